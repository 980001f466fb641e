// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport live`: the last seconds of a recording in a terminal, refreshed each second. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "stacksexport/commands.h"
#include "stacksexport/duck/recfiles.h"
#include "stacksexport/live/livereader.h"
#include "stacksexport/live/livescreen.h"
#include "stacksexport/live/recorder.h"
#include "stacksexport/topbase.h"

#define REFRESH_NS	1000000000
#define SECONDS_DEFAULT 10

struct live {
	struct recorder recorder;
	struct live_screen screen;
	struct live_reader reader;
	struct live_data data;
	uint64_t read_ns; /* when it was read last */
};

static volatile sig_atomic_t live_signalled;

static void live_signal(int number)
{
	live_signalled = number;
}

static void live_set_status(struct live *l, bool good)
{
	if (recorder__has_ended(&l->recorder))
		l->screen.status = recfiles__is_written(l->screen.request.recording)
					   ? "recording"
					   : "the recording has ended";
	else
		l->screen.status = good ? "recording" : "waiting for events";
}

/* Requests what is to be read. Returns true if something new was read. */
static bool live_read(struct live *l, bool is_stale)
{
	bool good, is_due = !l->screen.paused && monotonic__ns() - l->read_ns >= REFRESH_NS;
	enum live_reader_state state = live_reader__take(&l->reader, &l->data, &good);

	if (state == LIVE_READ) {
		l->read_ns = monotonic__ns();
		live_set_status(l, good);
	}
	if (is_stale) { /* what is shown is of another request */
		l->screen.status = "reading";
		live_data__free(&l->data);
		live_reader__request(&l->reader, &l->screen.request);
	} else if (is_due && state == LIVE_IDLE) {
		live_reader__request(&l->reader, &l->screen.request);
	}
	return state == LIVE_READ;
}

/* The recorder that this program started has ended without an event. */
static bool live_has_failed(struct live *l)
{
	return l->recorder.folder[0] && recorder__has_ended(&l->recorder) && !l->data.text &&
	       !l->data.total;
}

/* Messages would be written over the screen: they are dropped, and those of a recorder are in its
 * log. */
static int live_silence(void)
{
	int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDERR_FILENO);
		close(null);
	}
	return kept;
}

static void live_loop(struct live *l)
{
	live_screen__draw(&l->screen, &l->data);
	while (!l->screen.ended && !live_signalled) {
		bool is_stale = false, has_key = live_screen__key(&l->screen, &is_stale);
		bool has_read = live_read(l, is_stale);

		if (has_key || has_read)
			live_screen__draw(&l->screen, &l->data);
		if (has_read && !is_stale && live_has_failed(l))
			break;
	}
}

static int live_show(struct live *l)
{
	int kept, status = STATUS_OK;

	if (live_reader__start(&l->reader) != 0) {
		log__error("cannot start a thread");
		return STATUS_FAILED;
	}
	kept = live_silence();
	if (live_screen__open(&l->screen)) {
		live_loop(l);
		live_screen__close();
	} else {
		status = STATUS_FAILED;
	}
	live_reader__stop(&l->reader);
	if (kept >= 0) {
		dup2(kept, STDERR_FILENO);
		close(kept);
	}
	if (status != STATUS_OK)
		log__error("this terminal cannot show a full screen: TERM=%s", getenv("TERM"));
	return status;
}

static int live_start(struct live *l, const struct export_options *o)
{
	const char *folder = o->recording_cnt ? o->recordings[0] : NULL;

	l->screen.request = (struct live_request){ .options = o,
						   .recording = folder,
						   .seconds = SECONDS_DEFAULT,
						   .by_total = top_base__by_total(o) };
	l->screen.status = "waiting for events";
	if (folder && o->sources)
		return export_options__wrong(o, "-p is for a recording that begins now");
	if (folder && access(folder, R_OK | X_OK) != 0) {
		log__error("cannot read %s: %s", folder, strerror(errno));
		return STATUS_FAILED;
	}
	if (folder)
		return STATUS_OK;
	if (recorder__start(&l->recorder, o->sources) != 0)
		return STATUS_FAILED;
	l->screen.request.recording = l->recorder.recording;
	return STATUS_OK;
}

int live__run(const struct export_options *o)
{
	struct live l = { .read_ns = 0 };
	int status;

	if (top_base__check_order(o) != STATUS_OK)
		return STATUS_USAGE;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return export_options__wrong(o, "live needs a terminal; see also: top");
	signal(SIGINT, live_signal);
	signal(SIGTERM, live_signal);
	signal(SIGHUP, live_signal);
	status = live_start(&l, o);
	if (status == STATUS_OK)
		status = live_show(&l);
	if (status == STATUS_OK && !l.screen.ended && !live_signalled) {
		recorder__print_log(&l.recorder);
		status = STATUS_FAILED;
	}
	recorder__stop(&l.recorder);
	live_data__free(&l.data);
	return status;
}
