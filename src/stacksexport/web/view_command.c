// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport view`: shows a recording as a page in a browser. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/progress.h"
#include "stacksexport/topbase.h"
#include "stacksexport/web/server.h"

extern char **environ;

/* Opens no browser for root, because it would run the scripts of all web pages as root. */
static bool has_browser(const struct export_options *o)
{
	return !o->no_open && geteuid() != 0 && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* Waits for xdg-open, which ends as soon as the browser has the address. */
static bool open_browser(const char *url)
{
	char *argv[] = { (char *)"xdg-open", (char *)url, NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

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
	if (has_browser(o) && open_browser(url)) {
		log__info("Ctrl-C ends it");
		return;
	}
	gethostname(host, sizeof(host) - 1);
	log__info("open this address in a browser; from another machine after: "
		  "ssh -L %u:127.0.0.1:%u %s (Ctrl-C ends it)",
		  s->port, s->port, host);
}

/* Blocks the signals in all threads that start later, too: one thread waits for them. */
static sigset_t block_signals(void)
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
	signals = block_signals();
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
