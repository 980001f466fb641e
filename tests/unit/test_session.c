// SPDX-License-Identifier: GPL-2.0-or-later
/* From records to rows, which DuckDB reads back. */
#include "lib/test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "lib/live_rig.h"
#include "lib/session_rig.h"

#define TIMES                                                                                 \
	"SELECT pid || ' ' || (timestamp - duration - min(timestamp - duration) OVER ()) // " \
	"1000000 || '+' || duration // 1000000 || ' ' || coalesce(state, '-') "

static void add(struct session_rig *r, uint32_t tid, uint64_t from_ms, uint64_t to_ms)
{
	struct event e = session_rig__slice(r, tid, from_ms * MS, to_ms * MS);

	session_rig__record(r, &e);
}

static void rows_have_processes_and_times(void **state)
{
	struct session_rig r = session_rig__new("switch:n");
	struct event e = session_rig__slice(&r, 1000001, 5 * MS, 7 * MS);

	(void)state;
	add(&r, 1000000, 0, 3);
	e.cpu = 3;
	e.flags = EVENT_F_RUNNABLE | EVENT_F_TARGET;
	e.runnable_ns = 77;
	e.target = 8;
	e.amount = UINT64_MAX;
	e.state = EVENT_STATE_PREEMPTED;
	e.reason = EIO;
	memcpy(e.span, "sixteen letters!", EVENT_SPAN_SZ);
	session_rig__record(&r, &e);
	session_rig__finish(&r);
	duck__reads(r.dir, TIMES "FROM events ORDER BY timestamp",
		    "1000000 0+3 sleeping\n1000001 5+2 preempted\n");
	duck__reads(
		r.dir,
		"SELECT concat_ws(' ', kind, cpu, tgid, command, thread, runnable, target, amount, "
		"reason, nullif(trace_name, ''), weight, gaps IS NULL, host != '', unwind IS NULL) "
		"FROM events ORDER BY timestamp",
		"switch 0 1000000 prog worker 0 1 true true true\n"
		"switch 3 1000000 prog worker 77 8 9223372036854775807 EIO sixteen letters! 1 true "
		"true true\n");
	duck__reads(r.dir,
		    "SELECT (abs(max(timestamp) - 1000 * epoch_us(now()::TIMESTAMP)) < "
		    "60000000000)::VARCHAR FROM events",
		    "true\n");
	assert_int_equal(session__stats(r.session)->rows[EVENT_SWITCH], 2);
	session_rig__free(&r);
}

static void names_belong_to_their_time(void **state)
{
	struct session_rig r = session_rig__new("switch:n");
	struct event e = session_rig__slice(&r, 1000001, 0, 1 * MS);

	(void)state;
	for (int i = 0; i < 6; i++) {
		snprintf(e.comm, sizeof(e.comm), "c%d", i / 2);
		snprintf(e.thread, sizeof(e.thread), "t%d", i / 3);
		e.time_ns++;
		session_rig__record(&r, &e);
	}
	memcpy(e.comm, "sixteen letters!", EVENT_COMM_SZ); /* no NUL: never sent by a kernel */
	e.time_ns++;
	session_rig__record(&r, &e);
	session_rig__finish(&r);
	duck__reads(r.dir, "SELECT command || ' ' || thread FROM events ORDER BY timestamp",
		    "c0 t0\nc0 t0\nc1 t0\nc1 t1\nc2 t1\nc2 t1\nsixteen letters! t1\n");
	session_rig__free(&r);
}

/* Every size and number in an event comes from the ring and is checked before it is used. */
static void unknown_events_are_dropped(void **state)
{
	struct session_rig r = session_rig__new("switch:n");
	struct event bad[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		bad[i] = session_rig__slice(&r, 1000001, 0, 1 * MS);
	bad[0].kind = EVENT_KIND_CNT;
	bad[1].state = EVENT_STATE_CNT;
	bad[2].detail_sz = EVENT_DETAIL_MAX + 8;
	bad[3].flags = EVENT_F_CLOSE; /* of an operation that has not begun */
	for (size_t i = 0; i < 4; i++)
		session_rig__record(&r, &bad[i]);
	add(&r, 1000001, 0, 1);
	session_rig__finish(&r);
	duck__reads(r.dir, "SELECT count(*)::VARCHAR FROM events", "1\n");
	session_rig__free(&r);
}

/* ---- slices that are joined ---- */

static void a_minimum_joins_slices(void **state)
{
	struct session_rig r = session_rig__new("switch:n:10ms");

	struct event sample = session_rig__slice(&r, 1, 2 * MS, 3 * MS);

	(void)state;
	sample.kind = EVENT_PROFILE; /* it does not take part */
	sample.state = EVENT_STATE_NONE;
	add(&r, 1, 0, 2);
	session_rig__record(&r, &sample);
	add(&r, 2, 1, 2);
	add(&r, 1, 5, 6);   /* 3 ms later */
	add(&r, 1, 16, 20); /* 10 ms later */
	add(&r, 2, 90, 95);
	add(&r, 1, 21, 25);
	session_rig__finish(&r);
	duck__reads(r.dir,
		    TIMES
		    "|| ' ' || coalesce(gaps // 1000000, -1) FROM events ORDER BY pid, timestamp",
		    "1 2+1 - -1\n1 0+6 sleeping 3\n1 16+9 sleeping 1\n"
		    "2 1+1 sleeping 0\n2 90+5 sleeping 0\n");
	assert_int_equal(session__stats(r.session)->rows[EVENT_SWITCH], 4);
	assert_int_equal(session__stats(r.session)->rows[EVENT_PROFILE], 1);
	session_rig__free(&r);
}

static void a_last_slice_waits_for_none(void **state)
{
	struct session_rig r = session_rig__new("switch:n:10ms");
	struct event last = session_rig__slice(&r, 1, 3 * MS, 4 * MS);
	struct event other = session_rig__slice(&r, 2, 3 * MS, 4 * MS);

	(void)state;
	add(&r, 1, 0, 2);
	last.state = other.state = EVENT_STATE_DEAD;
	session_rig__record(&r, &last);
	session_rig__record(&r, &other);
	assert_int_equal(session__stats(r.session)->rows[EVENT_SWITCH], 2);
	add(&r, 1, 5, 6); /* another thread with the same number */
	session_rig__finish(&r);
	duck__reads(r.dir, TIMES "FROM events ORDER BY pid, timestamp",
		    "1 0+4 dead\n1 5+1 sleeping\n2 3+1 dead\n");
	session_rig__free(&r);
}

static void a_slice_that_waited_has_the_names_of_its_time(void **state)
{
	struct session_rig r = session_rig__new("switch:n:10ms");
	struct event e = session_rig__slice(&r, 1, 50 * MS, 51 * MS);

	(void)state;
	add(&r, 1, 0, 2);
	memcpy(e.comm, "renamed", sizeof("renamed"));
	session_rig__record(&r, &e);
	e = session_rig__slice(&r, 1, 150 * MS, 151 * MS);
	memcpy(e.comm, "again", sizeof("again"));
	e.state = EVENT_STATE_DEAD;
	session_rig__record(&r, &e);
	session_rig__finish(&r);
	duck__reads(r.dir, "SELECT command FROM events ORDER BY timestamp",
		    "prog\nrenamed\nagain\n");
	session_rig__free(&r);
}

/* ---- losses ---- */

static void losses_are_rows(void **state)
{
	struct session_rig r = session_rig__new("switch:n");
	const struct record notices = { .type = RECORD_LOST, .cpu = 1, .lost = { 3 } };
	const struct session_stats *stats = session__stats(r.session);

	(void)state;
	session_rig__lose(&r, "switch", "ring_full", 7);
	session_rig__lose(&r, "filter", "state_full", 1);
	session__records(&notices, 1, r.session);
	session_rig__finish(&r);
	duck__reads(
		r.dir,
		"SELECT concat_ws(' ', kind, lost_kind, reason, cpu, amount, tgid, pid, weight, "
		"command = '', duration BETWEEN 0 AND 60000000000, "
		"abs(timestamp - 1000 * epoch_us(now()::TIMESTAMP)) < 60000000000) "
		"FROM events ORDER BY lost_kind",
		"lost filter state_full 2 1 0 0 1 true true true\n"
		"lost process ring_full 1 3 0 0 1 true true true\n"
		"lost switch ring_full 2 7 0 0 1 true true true\n");
	assert_int_equal(stats->lost[EVENT_SWITCH], 7);
	assert_int_equal(stats->lost[EVENT_PROFILE], 0);
	assert_int_equal(stats->lost_sideband, 3);
	assert_int_equal(stats->rows[EVENT_SWITCH], 0);
	session_rig__free(&r);
}

/* ---- stacks ---- */

#define MISSING_STACKS                                                                        \
	"SELECT count(*)::VARCHAR FROM events e WHERE ustack_id IS NOT NULL AND NOT EXISTS (" \
	"FROM stacktraces s WHERE s.stack_id = e.ustack_id AND "                              \
	"replace(s.filename, '/stacktraces-', '/events-') = e.filename)"

static const char *const sleeper[] = { "sleep", "100", NULL };

/* An event with the stack of a sleeping program. */
static void capture_sleep(pid_t pid, struct event *e)
{
	live__wait_in(pid, SYS_clock_nanosleep); /* before that it may be anywhere */
	assert_true(live__interrupt(pid));
	live__capture(pid, e, 0, EVENT_STACK_MAX);
	live__let_go(pid);
	e->kind = EVENT_PROFILE;
	e->weight = 1;
	memcpy(e->comm, "sleep", sizeof("sleep"));
}

static pid_t capture_sleeper(struct event *e)
{
	pid_t pid = live__start(sleeper, false);

	capture_sleep(pid, e);
	return pid;
}

static void check_sleeper(const struct session_rig *r)
{
	const struct session_stats *stats = session__stats(r->session);

	duck__reads(r->dir,
		    "SELECT DISTINCT concat_ws(' ', unwind, frames[-1].module, hex(e.buildid) = "
		    "upper(frames[-1].build_id), len(frames) > 4) "
		    "FROM events e JOIN stacktraces ON stack_id = ustack_id",
		    "root /usr/bin/sleep true true\n");
	duck__reads(r->dir, MISSING_STACKS, "0\n");
	assert_int_equal(stats->to_root[EVENT_PROFILE], stats->user_stacks[EVENT_PROFILE]);
	assert_int_equal(stats->unwound[UNWIND_ROOT], stats->user_stacks[EVENT_PROFILE]);
}

/* Each batch has all its stacks, however small batches are. */
static void a_stack_is_in_the_batch_of_its_rows(void **state)
{
	struct session_rig r = session_rig__new("profile");
	struct event *e = live__event();
	pid_t pid = capture_sleeper(e);

	(void)state;
	assert_int_equal(process_table__scan(r.census.processes), 0);
	for (uint64_t i = 1; i < 4; i++) {
		e->time_ns = r.base_ns + i * 11 * SECOND;
		session_rig__record(&r, e);
		session_rig__record(&r, e);
		session_rig__close_batch(&r, i * 11 * SECOND);
	}
	live__kill(pid);
	session_rig__finish(&r);
	check_sleeper(&r);
	duck__reads(r.dir,
		    "SELECT concat_ws(' ', count(DISTINCT filename), count(DISTINCT "
		    "ustack_id), count(*)) FROM events",
		    "3 1 6\n");
	assert_int_equal(session__stats(r.session)->user_stacks[EVENT_PROFILE], 6);
	session_rig__free(&r);
	free(e);
}

/* A pending slice takes its stack along when its batch closes. */
static void a_slice_that_waits_keeps_its_stack(void **state)
{
	struct session_rig r = session_rig__new("switch:u:1h");
	struct event *e = live__event();
	pid_t pid = capture_sleeper(e);

	(void)state;
	e->kind = EVENT_SWITCH;
	e->time_ns = r.base_ns + SECOND;
	session_rig__record(&r, e);
	for (uint64_t i = 1; i < 3; i++) {
		struct event other = session_rig__slice(&r, 2, 0, i);

		other.state = EVENT_STATE_DEAD; /* a row at once: no batch is empty */
		session_rig__record(&r, &other);
		session_rig__close_batch(&r, i * 11 * SECOND);
	}
	live__kill(pid);
	session_rig__finish(&r);
	duck__reads(r.dir,
		    "SELECT DISTINCT concat_ws(' ', e.command, parse_filename(e.filename)) "
		    "FROM events e JOIN stacktraces ON stack_id = ustack_id",
		    "sleep events-000003.parquet\n");
	duck__reads(r.dir, MISSING_STACKS, "0\n");
	session_rig__free(&r);
	free(e);
}

/* With its stack, although the thread that began it has ended long ago. */
static void an_end_is_a_row_of_the_beginner(void **state)
{
	struct session_rig r = session_rig__new("switch:u");
	struct event *e = live__event();
	const struct event other = session_rig__slice(&r, 2, 0, 1);
	struct event end = { .kind = EVENT_SWITCH,
			     .flags = EVENT_F_CLOSE,
			     .join = 42,
			     .amount = 4096,
			     .time_ns = r.base_ns + 21 * SECOND,
			     .comm = "swapper" };
	pid_t pid = capture_sleeper(e);

	(void)state;
	e->kind = EVENT_SWITCH;
	e->flags |= EVENT_F_OPEN;
	e->join = 42;
	e->time_ns = r.base_ns + SECOND;
	session_rig__record(&r, e);
	live__kill(pid);
	session_rig__exit(&r, (uint32_t)pid);
	assert_int_equal(session__stats(r.session)->rows[EVENT_SWITCH], 0);
	session_rig__record(&r, &other); /* no batch is empty */
	session_rig__close_batch(&r, 11 * SECOND);
	session_rig__record(&r, &end);
	session_rig__record(&r, &end); /* it has already ended */
	session_rig__finish(&r);
	duck__reads(
		r.dir,
		"SELECT DISTINCT concat_ws(' ', command, amount, duration, frames[-1].module, "
		"hex(buildid) "
		"= "
		"upper(frames[-1].build_id)) FROM events JOIN stacktraces ON stack_id = ustack_id",
		"sleep 4096 20000000000 /usr/bin/sleep true\n");
	duck__reads(r.dir, MISSING_STACKS, "0\n");
	duck__reads(r.dir, "SELECT count(*)::VARCHAR FROM events", "2\n");
	session_rig__free(&r);
	free(e);
}

/* The end of an operation comes from the interrupted CPU; here from an idle one, and the events of
 * that one wait for the names of kernel functions. */
static void operations_of_one_name_stay_apart(void **state)
{
	struct session_rig r = session_rig__new("block:k");
	struct event *idle = calloc(1, sizeof(*idle) + sizeof(uint64_t));
	struct event op = session_rig__slice(&r, 1, 0, 1);

	(void)state;
	*idle = (struct event){ .kind = EVENT_WAKE, .weight = 1, .kstack_sz = sizeof(uint64_t) };
	op.kind = EVENT_BLK_READ;
	op.join = 42;
	for (op.tid = 1; op.tid < 4; op.tid++) {
		op.flags = EVENT_F_OPEN;
		op.tgid = 1000000 + op.tid;
		session_rig__record(&r, &op);
		session_rig__record(&r, idle);
		op.flags = EVENT_F_CLOSE;
		op.tgid = 0;
		session_rig__record(&r, &op);
	}
	session_rig__finish(&r);
	duck__reads(r.dir,
		    "SELECT string_agg(concat_ws(' ', kind, pid), ', ' ORDER BY pid, kind) FROM "
		    "events WHERE kind != 'wake'",
		    "blk_read 1, blk_read 2, blk_read 3\n");
	session_rig__free(&r);
	free(idle);
}

/* Mappings made while the kernel's records were lost are read when a stack reaches them. */
static void unreported_mappings_are_read(void **state)
{
	struct session_rig r = session_rig__new("profile");
	struct event *e = live__event();
	pid_t pid = live__start(sleeper, true); /* before its first instruction: without libc */

	(void)state;
	assert_int_equal(process_table__scan(r.census.processes), 0);
	live__let_go(pid);
	capture_sleep(pid, e);
	session_rig__record(&r, e);
	live__kill(pid);
	session_rig__finish(&r);
	check_sleeper(&r);
	session_rig__free(&r);
	free(e);
}

static void both_unwinders_agree(void **state)
{
	struct session_rig r = session_rig__new("profile"), naive;
	struct event *e = live__event();
	pid_t pid = capture_sleeper(e);
	char *id;

	(void)state;
	naive = session_rig__new("profile");
	census__stop(&naive.census);
	session__free(naive.session);
	census__free(&naive.census);
	assert_int_equal(census__init(&naive.census), 0);
	naive.options.unwinder = UNWINDER_NAIVE;
	naive.session = session__new(&naive.options, naive.recording, &naive.census, NULL);
	assert_non_null(naive.session);
	session_rig__record(&r, e);
	session_rig__record(&naive, e);
	live__kill(pid);
	session_rig__finish(&r);
	session_rig__finish(&naive);
	check_sleeper(&naive);
	id = duck__read(r.dir, "SELECT ustack_id::VARCHAR FROM events");
	duck__reads(naive.dir, "SELECT ustack_id::VARCHAR FROM events", id);
	free(id);
	session_rig__free(&naive);
	session_rig__free(&r);
	free(e);
}

RUN_TESTS(cmocka_unit_test(rows_have_processes_and_times),
	  cmocka_unit_test(names_belong_to_their_time),
	  cmocka_unit_test(unknown_events_are_dropped), cmocka_unit_test(a_minimum_joins_slices),
	  cmocka_unit_test(a_last_slice_waits_for_none),
	  cmocka_unit_test(a_slice_that_waited_has_the_names_of_its_time),
	  cmocka_unit_test(losses_are_rows), cmocka_unit_test(a_stack_is_in_the_batch_of_its_rows),
	  cmocka_unit_test(a_slice_that_waits_keeps_its_stack),
	  cmocka_unit_test(an_end_is_a_row_of_the_beginner),
	  cmocka_unit_test(operations_of_one_name_stay_apart),
	  cmocka_unit_test(unreported_mappings_are_read), cmocka_unit_test(both_unwinders_agree))
