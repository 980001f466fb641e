// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport view`: shows a recording as a page in a browser. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/progress.h"
#include "stacksexport/topbase.h"
#include "stacksexport/web/browser.h"
#include "stacksexport/web/server.h"

static void view_say_address(const struct export_options *o, const struct server *s)
{
	char url[160], host[256] = "";

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s/%s%s%s", s->port, s->token,
		 o->by ? "#root=" : "", o->by ? o->by : "",
		 !top_base__by_total(o) ? ""
		 : o->by		? "&sort=total"
					: "#sort=total");
	puts(url);
	fflush(stdout);
	if (!o->no_open && browser__open(url)) {
		log__info("opened in a browser (Ctrl-C ends it)");
		return;
	}
	gethostname(host, sizeof(host) - 1);
	log__info("open this address in a browser; from another machine after: "
		  "ssh -L %u:127.0.0.1:%u %s (Ctrl-C ends it)",
		  s->port, s->port, host);
}

/* Blocks the signals in all threads that start later, too: one thread waits for them. */
static sigset_t view_block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return set;
}

/* Limits the number of heaps: each request has a thread, and its heap would keep freed memory. */
#define HEAPS_MAX 2

int view__run(const struct export_options *o)
{
	struct export_options in_steps = *o;
	struct server server = { 0 };
	struct view view;
	sigset_t signals;
	int status, signal;

	if (grouping__check(o) != STATUS_OK || top_base__check_order(o) != STATUS_OK)
		return STATUS_USAGE;
	signals = view_block_signals();
	mallopt(M_ARENA_MAX, HEAPS_MAX);
	in_steps.in_steps = o->argument_cnt < 2; /* a difference is between whole recordings */
	status = view__open(&view, &in_steps);

	if (status == STATUS_OK && server__start(&server, &view) != 0)
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		progress__end(); /* the page shows it from now on */
		view_say_address(o, &server);
		sigwait(&signals, &signal);
	}
	running__stop(&view.running);
	server__stop(&server);
	view__close(&view);
	return status;
}
