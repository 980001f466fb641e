// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of processes: what /proc says of them, once in each batch and after each exec. */
#include "lib/test.h"

#include "lib/live_rig.h"
#include "lib/session_rig.h"

static void happen(struct session_rig *r, pid_t tgid, uint64_t at_ns)
{
	struct event e = session_rig__slice(r, (uint32_t)tgid, at_ns - 1, at_ns);

	e.tgid = (uint32_t)tgid;
	session_rig__record(r, &e);
}

static void run_program(struct session_rig *r, pid_t tgid)
{
	const struct record record = { .type = RECORD_COMM,
				       .time_ns = monotonic__ns(),
				       .tgid = (uint32_t)tgid,
				       .tid = (uint32_t)tgid,
				       .comm = { "sh", true } };

	session__records(&record, 1, r->session);
}

/* Waits until the child runs its program. */
static void wait_for_line(pid_t pid, const char *line)
{
	char text[512];

	do
		live__read(pid, "cmdline", 0, text);
	while (strcmp(text, line) != 0 && usleep(1000) == 0);
}

static void a_process_has_a_row_in_each_batch_and_after_exec(void **state)
{
	static const char *const argv[] = { "sleep", "100", NULL };
	struct session_rig r = session_rig__new("switch:n");
	pid_t pid = live__start(argv, false);
	char expected[256];

	(void)state;
	wait_for_line(pid, "sleep");
	happen(&r, pid, 1 * MS);
	happen(&r, pid, 2 * MS);
	run_program(&r, pid);
	happen(&r, pid, 3 * MS);
	session_rig__close_batch(&r, 11 * SECOND);
	happen(&r, pid, 12 * SECOND);
	live__kill(pid); /* what was known of it stays */
	session_rig__close_batch(&r, 23 * SECOND);
	happen(&r, pid, 24 * SECOND);
	session_rig__finish(&r);
	snprintf(expected, sizeof(expected),
		 "2 in processes-000001.parquet, 1 start, sleep 100 of %d\n"
		 "1 in processes-000002.parquet, 1 start, sleep 100 of %d\n"
		 "1 in processes-000003.parquet, 1 start, sleep 100 of %d\n",
		 getpid(), getpid(), getpid());
	duck__reads(r.dir,
		    "SELECT concat(count(*), ' in ', parse_filename(filename), ', ', "
		    "count(DISTINCT start), ' start, ', any_value(command_line), ' of ', "
		    "any_value(parent)) FROM processes GROUP BY filename ORDER BY filename",
		    expected);
	duck__reads(r.dir,
		    "SELECT count(DISTINCT start)::VARCHAR FROM processes WHERE executable LIKE "
		    "'%/sleep' AND uid IS NOT NULL AND timestamp > start",
		    "1\n");
	session_rig__free(&r);
}

static void hostile_command_lines_are_text_and_bounded(void **state)
{
	char argument[9000];
	const char *argv[] = { "sh", "-c", "read x; read y", "\xff\n", argument, NULL };
	struct session_rig r = session_rig__new("switch:n");
	pid_t pid;

	(void)state;
	memset(argument, 'x', sizeof(argument));
	argument[sizeof(argument) - 1] = '\0';
	argv[0] = "sh";
	pid = live__start(argv, true); /* stopped before its first instruction */
	happen(&r, pid, 1 * MS);
	session_rig__finish(&r);
	duck__reads(r.dir,
		    "SELECT concat(command_line[:25], ' ', "
		    "strlen(command_line) BETWEEN 4096 AND 4100) FROM processes",
		    "sh -c read x; read y \xef\xbf\xbd\n x true\n");
	live__kill(pid);
	session_rig__free(&r);
}

static void a_process_that_is_gone_has_a_row_without_facts(void **state)
{
	struct session_rig r = session_rig__new("switch:n");

	(void)state;
	happen(&r, 1000000, 1 * MS);
	session_rig__finish(&r);
	duck__reads(r.dir,
		    "SELECT concat_ws(' ', tgid, start, parent, uid, user, command_line, "
		    "executable, host IS NOT NULL) FROM processes",
		    "1000000 true\n");
	session_rig__free(&r);
}

RUN_TESTS(cmocka_unit_test(a_process_has_a_row_in_each_batch_and_after_exec),
	  cmocka_unit_test(hostile_command_lines_are_text_and_bounded),
	  cmocka_unit_test(a_process_that_is_gone_has_a_row_without_facts))
