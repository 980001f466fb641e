/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session with a recording in a temporary folder, and events for it. */
#ifndef UNIT_SESSION_RIG_H
#define UNIT_SESSION_RIG_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "collector/session.h"
#include "lib/duck.h"
#include "lib/shell.h"

#define MS     1000000ull
#define SECOND 1000000000ull

struct session_rig {
	char *dir;
	struct collector_options options;
	struct recording *recording;
	struct census census;
	struct session *session;
	uint64_t base_ns; /* CLOCK_MONOTONIC; the events' times count from here */
};

/* `text`: the probes, as in -p. */
static inline struct session_rig session_rig__new(const char *text)
{
	struct session_rig r = { .base_ns = monotonic__ns() };
	struct recording_options *o = &r.options.recording;
	char *list = strdup(text), why[256];
	int cnt = probes__parse(list, r.options.probes, why, sizeof(why));

	log__init("test", LOG_ERROR);
	assert_true(cnt > 0);
	r.options.capture.probe_cnt = (size_t)cnt;
	r.options.max_memory_sz = (size_t)256 << 20;
	assert_int_equal(shell__setup((void **)&r.dir), 0);
	*o = (struct recording_options){ .dir = r.dir,
					 .owner_uid = geteuid(),
					 .owner_gid = getegid(),
					 .rows_per_group = 100,
					 .groups_per_file = 10,
					 .batch_ns = 10 * SECOND,
					 .compression = "none" };
	r.recording = recording__new(o);
	assert_non_null(r.recording);
	assert_int_equal(census__init(&r.census), 0);
	r.session = session__new(&r.options, r.recording, &r.census, NULL);
	assert_non_null(r.session);
	assert_int_equal(session__tick(r.session, r.base_ns), 0);
	free(list);
	return r;
}

static inline void session_rig__free(struct session_rig *r)
{
	census__stop(&r->census);
	session__free(r->session);
	recording__free(r->recording);
	census__free(&r->census);
	shell__teardown((void **)&r->dir);
}

static inline void session_rig__lose(struct session_rig *r, const char *probe, const char *reason,
				     uint64_t cnt)
{
	session__loss(
		&(struct capture_loss){ .probe = probe, .reason = reason, .cpu = 2, .cnt = cnt },
		r->session);
}

/* Drains until the batch has closed, which waits for the names of its stacks. */
static inline void session_rig__close_batch(struct session_rig *r, uint64_t at_ns)
{
	uint32_t generation = recording__generation(r->recording);
	uint64_t until_ns = monotonic__ns() + 60 * SECOND;

	while (session__totals(r->session).deferred.cnt) {
		assert_true(monotonic__ns() < until_ns);
		assert_int_equal(session__tick(r->session, r->base_ns), 0);
		usleep(1000);
	}
	do {
		assert_true(monotonic__ns() < until_ns);
		assert_int_equal(session__tick(r->session, r->base_ns + at_ns), 0);
		usleep(1000);
	} while (recording__generation(r->recording) == generation);
}

static inline void session_rig__finish(struct session_rig *r)
{
	session__flush(r->session, r->base_ns + 10 * SECOND);
	assert_int_equal(recording__finish(r->recording), 0);
}

static inline void session_rig__record(struct session_rig *r, const struct event *e)
{
	const struct record record = { .type = RECORD_SAMPLE,
				       .time_ns = e->time_ns,
				       .tgid = e->tgid,
				       .tid = e->tid,
				       .event = e };

	session__records(&record, 1, r->session);
}

/* The first thread has ended. */
static inline void session_rig__exit(struct session_rig *r, uint32_t tgid)
{
	const struct record record = { .type = RECORD_EXIT, .tgid = tgid, .tid = tgid };

	session__records(&record, 1, r->session);
}

/* A slice of a thread of the process `prog`; times count from the start. */
static inline struct event session_rig__slice(const struct session_rig *r, uint32_t tid,
					      uint64_t from_ns, uint64_t to_ns)
{
	return (struct event){ .kind = EVENT_SWITCH,
			       .state = EVENT_STATE_SLEEPING,
			       .tgid = 1000000, /* unused: beyond the kernel's PID_MAX_DEFAULT */
			       .tid = tid,
			       .time_ns = r->base_ns + to_ns,
			       .duration_ns = to_ns - from_ns,
			       .weight = 1,
			       .comm = "prog",
			       .thread = "worker" };
}

#endif
