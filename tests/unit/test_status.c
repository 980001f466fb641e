// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages on stderr: in a file, and on a terminal. */
#include "lib/test.h"

#include <pty.h>

#include "lib/capture_take.h"
#include "collector/status.h"
#include "lib/manager.h"
#include "lib/session_rig.h"

#define CLEAR_LINE "\r\033[K"

struct rig {
	struct session_rig session;
	struct status status;
	struct notify notify;
	int reader, writer, own_stderr; /* `writer` replaces stderr during a call */
	char text[8192];
};

static void divert(struct rig *r)
{
	r->own_stderr = dup(STDERR_FILENO);
	dup2(r->writer, STDERR_FILENO);
}

/* Returns everything up to a mark, because a terminal passes it on later. */
static const char *restore(struct rig *r)
{
	size_t sz = 0;

	assert_int_equal(write(r->writer, "\1", 1), 1);
	dup2(r->own_stderr, STDERR_FILENO);
	close(r->own_stderr);
	do {
		ssize_t n = read(r->reader, r->text + sz, sizeof(r->text) - 1 - sz);

		assert_true(n > 0);
		sz += (size_t)n;
	} while (r->text[sz - 1] != '\1');
	r->text[sz - 1] = '\0';
	return r->text;
}

/* Returns what a call writes to stderr. */
#define said(r, call) (divert(r), (call), restore(r))

static void begin(struct rig *r, bool terminal, bool quiet)
{
	r->session = session_rig__new("profile:u,switch:n");
	r->session.options.quiet = quiet;
	if (terminal) {
		assert_int_equal(openpty(&r->reader, &r->writer, NULL, NULL, NULL), 0);
	} else {
		int fds[2];

		assert_int_equal(pipe(fds), 0);
		r->reader = fds[0];
		r->writer = fds[1];
	}
	notify__open(&r->notify);
	assert_string_equal(said(r, status__init(&r->status, &r->session.options, &r->notify)), "");
}

static void end(struct rig *r)
{
	close(r->reader);
	close(r->writer);
	log__set_before(NULL);
	notify__close(&r->notify);
	session_rig__free(&r->session);
}

static const char *recording(struct rig *r)
{
	return said(r, status__recording(&r->status, "/some/where", r->session.base_ns));
}

static const char *tick(struct rig *r, uint64_t at_ms)
{
	uint64_t at_ns = r->session.base_ns + at_ms * MS;

	if (!status__due(&r->status, at_ns))
		return "";
	return said(r, status__tick(&r->status, r->session.session, r->session.recording, at_ns));
}

static const char *summary(struct rig *r, uint64_t at_ms)
{
	return said(r, status__summary(&r->status, r->session.session, r->session.recording,
				       r->session.base_ns + at_ms * MS));
}

static void add_slices(struct rig *r, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct event e = session_rig__slice(&r->session, 1, i, i + 1);

		session_rig__record(&r->session, &e);
	}
}

static void a_file_gets_a_line_every_ten_seconds(void **state)
{
	struct rig r = { 0 };
	double cpu;

	(void)state;
	begin(&r, false, false);
	assert_string_equal(recording(&r), "recording to /some/where\n");
	assert_string_equal(tick(&r, 9999), "");
	add_slices(&r, 5);
	session_rig__lose(&r.session, "switch", "ring_full", 3);
	assert_int_equal(sscanf(tick(&r, 10000),
				"   10 s  5 samples  3 lost  0 KB  "
				"own CPU %lf %%\n",
				&cpu),
			 1);
	assert_true(cpu >= 0 && cpu < 100);
	assert_ptr_equal(strchr(r.text, '\n'), r.text + strlen(r.text) - 1);
	assert_string_equal(tick(&r, 19999), "");
	assert_memory_equal(tick(&r, 20000), "   20 s", 7);
	end(&r);
}

/* One line that is overwritten twice a second, and cleared for messages. */
static void a_terminal_gets_a_line_that_is_overwritten(void **state)
{
	struct rig r = { 0 };

	(void)state;
	begin(&r, true, false);
	assert_string_equal(recording(&r), "recording to /some/where (Ctrl-C ends it)\r\n");
	assert_string_equal(tick(&r, 499), "");
	assert_memory_equal(tick(&r, 500), CLEAR_LINE "    0 s", 10);
	assert_null(strchr(r.text, '\n'));
	assert_memory_equal(tick(&r, 1500), CLEAR_LINE "    2 s", 10);
	assert_string_equal(said(&r, log__error("it")), CLEAR_LINE "test: it\r\n");
	session_rig__finish(&r.session);
	assert_memory_equal(summary(&r, 2000), CLEAR_LINE "kind ", 8);
	assert_string_equal(said(&r, log__error("it")), "test: it\r\n");
	end(&r);
}

static void quiet_prints_only_the_folder(void **state)
{
	struct rig r = { 0 };

	(void)state;
	for (int terminal = 0; terminal < 2; terminal++) {
		begin(&r, terminal, true);
		assert_string_equal(recording(&r), terminal ? "recording to /some/where\r\n"
							    : "recording to /some/where\n");
		assert_string_equal(tick(&r, 60000), "");
		assert_memory_equal(said(&r, log__error("it")), "test: it", 8);
		session_rig__finish(&r.session);
		assert_string_equal(summary(&r, 60000), "");
		assert_string_equal(said(&r, status__bill(&r.status, NULL, SECOND)), "");
		end(&r);
	}
}

static void a_service_manager_gets_the_line_without_the_indent(void **state)
{
	(void)state;
	for (int quiet = 0; quiet < 2; quiet++) {
		struct manager m;
		struct rig r = { 0 };

		manager__begin(&m, '@');
		begin(&r, false, quiet);
		recording(&r);
		add_slices(&r, 5);
		tick(&r, 9999);
		assert_string_equal(manager__received(&m), "");
		assert_int_equal(*tick(&r, 10000) == '\0', quiet);
		assert_memory_equal(manager__received(&m), "STATUS=10 s  5 samples  0 lost  0 KB ",
				    37);
		assert_null(strchr(m.text, '\n'));
		session_rig__finish(&r.session);
		end(&r);
		manager__end(&m);
	}
}

/* A profile's stack that does not reach the root: its process is gone. */
static void add_sample(struct rig *r)
{
	struct event e = session_rig__slice(&r->session, 1, 0, 1);

	e.kind = EVENT_PROFILE;
	e.state = EVENT_STATE_NONE;
	e.flags = EVENT_F_USER;
	session_rig__record(&r->session, &e);
}

static void a_summary_counts(void **state)
{
	const struct record notices = { .type = RECORD_LOST, .lost = { 9 } };
	char expected[512], *size;
	struct rig r = { 0 };
	double cpu;

	(void)state;
	begin(&r, false, false);
	recording(&r);
	add_slices(&r, 5);
	add_sample(&r);
	add_sample(&r);
	session_rig__lose(&r.session, "switch", "ring_full", 3);
	session_rig__lose(&r.session, "exec", "ring_full", 4);
	session__records(&notices, 1, r.session.session);
	session_rig__finish(&r.session);
	size = shell__output("cat %s/*.parquet | wc -c | awk '{ printf \"%%.0f KB\", $1 / 1000 }'",
			     r.session.dir);
	assert_non_null(size);
	snprintf(expected, sizeof(expected),
		 "kind                 rows    to the root       lost\n"
		 "profile                 2         0.00 %%          0\n"
		 "switch                  5              -          3\n"
		 "exec                           all kinds          4\n"
		 "  user stacks ended: no_map 2\n"
		 "  lost notices of mappings and processes: 9\n"
		 "12.3 s, 10 rows in 1 batch, %s in %s; own CPU ",
		 size, r.session.dir); /* 5 slices, 2 samples, 3 losses */
	assert_int_equal(strncmp(summary(&r, 12345), expected, strlen(expected)), 0);
	assert_int_equal(sscanf(r.text + strlen(expected), "%lf s\n", &cpu), 1);
	free(size);
	end(&r);
}

static void a_bill_lists_programs(void **state)
{
	static const char head[] =
		"BPF program                                runs     ns/run % of a CPU\n";
	struct take take = { 0 };
	struct rig r = { 0 };

	(void)state;
	begin(&r, false, false);
	take__begin(&take, "switch:n");
	take__for(&take, 100);
	take__end(&take);
	assert_memory_equal(said(&r, status__bill(&r.status, take.capture, 100 * MS)), head,
			    strlen(head));
	assert_non_null(strstr(r.text, "\nswitch__switch "));
	take__free(&take);
	end(&r);
}

RUN_TESTS(cmocka_unit_test(a_file_gets_a_line_every_ten_seconds),
	  cmocka_unit_test(a_terminal_gets_a_line_that_is_overwritten),
	  cmocka_unit_test(quiet_prints_only_the_folder),
	  cmocka_unit_test(a_service_manager_gets_the_line_without_the_indent),
	  cmocka_unit_test(a_summary_counts), ROOT_TEST(a_bill_lists_programs))
