// SPDX-License-Identifier: GPL-2.0-or-later
/* include/stacktrace.h: the library of src/libstacktrace. */
#include "lib/test.h"

#include "lib/scene.h"

static void walks_as_often_as_one_likes(void **state)
{
	stacktrace_tracker *t = stacktrace_tracker_new(NULL);
	struct scene s = begin();
	struct stacktrace_stats stats = stacktrace_stats_init();

	(void)state;
	assert_non_null(t);
	for (int i = 0; i < 4; i++) {
		struct chain by_mapping = { 0 }, by_mask = { 0 };

		assert_int_equal(
			stacktrace_sample_getframes(t, &s.by_mapping, collect, &by_mapping),
			STACKTRACE_ROOT);
		check_chain(t, &s, &by_mapping);
		assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, collect, &by_mask),
				 STACKTRACE_ROOT);
		assert_int_equal(by_mapping.cnt, by_mask.cnt);
		assert_memory_equal(by_mapping.frames, by_mask.frames,
				    by_mask.cnt * sizeof(by_mask.frames[0]));
		assert_int_equal(stacktrace_settle(t, 10000000000), 0);
	}
	assert_int_equal(stacktrace_stats(t, &stats), 0);
	assert_int_equal(stats.samples, 8);
	assert_int_equal(stats.ended[STACKTRACE_ROOT], 8);
	assert_int_equal(stats.processes, 1);
	assert_in_range(stats.tables, 2, 4);
	assert_int_equal(stats.tables_pending, 0);
	assert_true(stats.table_bytes > 1000);
	stacktrace_tracker_free(t);
	stacktrace_tracker_free(NULL);
	end(&s);
}

/* ---- sources of mappings ------------------------------------------------------------------------
 */

static void on_process(stacktrace_tracker *t, pid_t pid, void *arg)
{
	struct telling *to = arg;

	to->calls++;
	assert_false(stacktrace_knows(t, pid));
	tell_mappings(t, to->pid, pid);
}

/* The process may be one of another time: /proc is not read. */
static void reports_are_enough(void **state)
{
	struct scene s = begin();
	struct telling to = { .pid = s.pid };
	stacktrace_tracker *t = make((struct stacktrace_options){
		.source = STACKTRACE_TOLD_ONLY, .on_process = on_process, .arg = &to });
	struct chain c = { 0 };

	(void)state;
	assert_int_equal(walk(t, &s, 0x10000000, &c), STACKTRACE_ROOT);
	assert_int_equal(walk(t, &s, 0x10000000, &c), STACKTRACE_ROOT);
	assert_int_equal(to.calls, 1);
	/* A fork inherits from its parent; an exec removes all mappings, and the callback is not
	 * called. */
	assert_int_equal(stacktrace_fork(t, 0x10000000, 0x10000001), 0);
	assert_int_equal(walk(t, &s, 0x10000001, &c), STACKTRACE_ROOT);
	assert_int_equal(stacktrace_exec(t, 0x10000001), 0);
	assert_int_equal(walk(t, &s, 0x10000001, &c), STACKTRACE_NO_MAP);
	assert_int_equal(c.cnt, 1);
	assert_int_equal(stacktrace_exit(t, 0x10000001), 0);
	assert_true(stacktrace_knows(t, 0x10000001));
	assert_int_equal(to.calls, 1);
	stacktrace_tracker_free(t);
	end(&s);
}

static void proc_is_read_without_reports(void **state)
{
	stacktrace_tracker *live = make((struct stacktrace_options){ .source = STACKTRACE_LIVE });
	stacktrace_tracker *told = make((struct stacktrace_options){ .source = STACKTRACE_TOLD });
	stacktrace_tracker *only =
		make((struct stacktrace_options){ .source = STACKTRACE_TOLD_ONLY });
	struct stacktrace_mapping odd = {
		.start = 0x1000,
		.size = 0x1000,
		.path = "/odd",
		.build_id = (const uint8_t *)"0123456789012345678901234567890123456789",
		.build_id_size = 40
	};
	struct scene s = begin();
	struct chain c;
	struct stacktrace_place place;

	(void)state;
	c.max = 0;
	assert_int_equal(walk(live, &s, s.pid, &c), STACKTRACE_ROOT);
	assert_int_equal(walk(told, &s, s.pid, &c), STACKTRACE_ROOT);
	assert_int_equal(walk(only, &s, s.pid, &c), STACKTRACE_NO_MAP);
	assert_int_equal(stacktrace_scan(only), -ENOENT);
	assert_int_equal(stacktrace_find(only, s.pid, c.frames[0].place, &place), -ENOENT);
	assert_int_equal(stacktrace_find(only, -1, c.frames[0].place, &place), -ENOENT);
	/* If one mapping was reported, no others are read. */
	assert_int_equal(stacktrace_map(told, 1, &odd), 0);
	assert_int_equal(walk(told, &s, 1, &c), STACKTRACE_NO_MAP);
	assert_int_equal(stacktrace_find(told, 1, 0x1800, &place), 0);
	assert_string_equal(place.module, "/odd");
	assert_string_equal(place.symbol, "");
	assert_int_equal(place.file_offset, 0x800);
	assert_int_equal(place.build_id_size, 20);
	assert_memory_equal(place.build_id, odd.build_id, 20);
	/* A scan finds all running processes. */
	assert_false(stacktrace_knows(live, getpid()));
	assert_int_equal(stacktrace_scan(live), 0);
	assert_true(stacktrace_knows(live, getpid()));
	assert_int_equal(stacktrace_overlay(live, s.pid, "/x", "/tmp"), 0);
	stacktrace_tracker_free(live);
	stacktrace_tracker_free(told);
	stacktrace_tracker_free(only);
	end(&s);
}

/* Samples before and after a library is mapped: /proc is read again without a report. */
static void a_program_that_execs_is_read_again(void **state)
{
	const char *argv[] = { "sh", "-c", "kill -STOP $$; exec sleep 1000", NULL };
	stacktrace_tracker *t = make((struct stacktrace_options){ 0 });
	struct scene s = { .pid = live__start(argv, false),
			   .event = live__event(),
			   .perf_regs = calloc(17, sizeof(uint64_t)) };
	struct chain c = { 0 };

	(void)state;
	live__wait_state(s.pid, 'T');
	assert_true(live__interrupt(s.pid));
	take_sample(&s);
	assert_int_equal(walk(t, &s, s.pid, &c), STACKTRACE_ROOT);
	live__let_go(s.pid);
	kill(s.pid, SIGCONT);
	live__wait_in(s.pid, SYS_clock_nanosleep);
	assert_true(live__interrupt(s.pid));
	take_sample(&s);
	assert_int_equal(stacktrace_exec(t, s.pid), 0);
	assert_int_equal(walk(t, &s, s.pid, &c), STACKTRACE_ROOT);
	check_chain(t, &s, &c);
	stacktrace_tracker_free(t);
	end(&s);
}

static void handler(int signal)
{
	static volatile int seen;

	pause();
	seen = signal; /* no tail call */
	(void)seen;
}

/* An interrupted frame was not calling: its place is its pc. */
static void signals_are_marked(void **state)
{
	struct scene s = { .event = live__event(), .perf_regs = calloc(17, sizeof(uint64_t)) };
	stacktrace_tracker *t;
	struct chain c = { 0 };
	size_t i = 0;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its runtime stands between the signal and the handler */
#endif
	s.pid = fork();
	if (s.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
		_exit(0);
	}
	live__wait_in(s.pid, SYS_pause);
	assert_true(live__interrupt(s.pid));
	take_sample(&s);
	t = make((struct stacktrace_options){ 0 });
	assert_int_equal(walk(t, &s, s.pid, &c), STACKTRACE_ROOT);
	while (i < c.cnt && !(c.frames[i].flags & STACKTRACE_SIGNAL))
		i++;
	assert_in_range(i, 2, c.cnt - 3); /* pause, handler, … main */
	assert_string_equal(name(t, s.pid, &c.frames[i - 1]), "handler");
	assert_int_equal(c.frames[i].place, c.frames[i].pc);
	assert_int_equal(c.frames[i + 1].place, c.frames[i + 1].pc);
	assert_int_equal(c.frames[i + 2].place, c.frames[i + 2].pc - 1);
	stacktrace_tracker_free(t);
	end(&s);
}

/* ---- errors -------------------------------------------------------------------------------------
 */

static int reenter(const struct stacktrace_frame *f, void *arg)
{
	struct stacktrace_stats stats = stacktrace_stats_init();

	(void)f;
	assert_int_equal(stacktrace_stats(arg, &stats), 0);
	return 1;
}

static void wrong_calls_are_refused(void **state)
{
	stacktrace_tracker *t = make((struct stacktrace_options){ 0 });
	struct scene s = begin();
	struct stacktrace_sample wrong;
	struct stacktrace_mapping none = { .path = "" };
	struct chain c = { .max = 2 };
	struct stacktrace_stats stats = { 0 };

	(void)state;
	wrong = s.by_mask;
	wrong.size--;
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), -EINVAL);
	wrong = s.by_mask;
	wrong.n_regs--;
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), -EINVAL);
	wrong = s.by_mask;
	wrong.perf_mask &= ~(1ull << 7);
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), -EINVAL);
	wrong = s.by_mask;
	wrong.pid = 0;
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), -EINVAL);
	wrong = s.by_mask;
	wrong.abi = STACKTRACE_ABI_NONE;
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), -ENODATA);
	wrong = s.by_mask;
	wrong.machine = EM_S390;
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), -ENOTSUP);
	assert_int_equal(c.cnt, 0);
	wrong = s.by_mask;
	wrong.abi = STACKTRACE_ABI_32;
	assert_int_equal(stacktrace_sample_getframes(t, &wrong, collect, &c), STACKTRACE_COMPAT);
	assert_int_equal(c.cnt, 1);
	wrong.stack = NULL;
	wrong.abi = STACKTRACE_ABI_64;
	wrong.flags = STACKTRACE_STACK_IS_CUT;
	assert_true(stacktrace_sample_getframes(t, &wrong, collect, &c) > STACKTRACE_ROOT);
	c.cnt = 0;
	assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, collect, &c),
			 STACKTRACE_STOPPED);
	assert_int_equal(c.cnt, 2);
	assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, reenter, t),
			 STACKTRACE_STOPPED);
	assert_int_equal(stacktrace_map(t, s.pid, &none), -EINVAL);
	assert_int_equal(stacktrace_fork(t, 5, 5), -EINVAL);
	assert_int_equal(stacktrace_exec(t, -1), -EINVAL);
	assert_int_equal(stacktrace_overlay(t, s.pid, "x", "/y"), -EINVAL);
	assert_int_equal(stacktrace_stats(t, &stats), -EINVAL);
	stacktrace_tracker_free(t);
	end(&s);
	assert_string_equal(stacktrace_end_name(STACKTRACE_ROOT), "root");
	assert_string_equal(stacktrace_end_name(STACKTRACE_STOPPED), "stopped");
	assert_string_equal(stacktrace_end_name(STACKTRACE_STITCHED), "stitched");
	assert_string_equal(stacktrace_end_name(STACKTRACE_STITCHED + 1), "?");
	assert_string_equal(stacktrace_end_name(-EINVAL), "?");
	assert_string_equal(stacktrace_end_name(STACKTRACE_END_COUNT), "?");
	assert_non_null(stacktrace_version());
}

/* Register numbers depend on the machine; mappings are reported. */
static void other_machines_are_walked(void **state)
{
	const int i386[] = { 4, 8, 0, -1, 99 };
	uint64_t regs[33] = { 0 }, stack[8] = { 0 };
	stacktrace_tracker *t = make((struct stacktrace_options){ .source = STACKTRACE_TOLD_ONLY });
	struct stacktrace_sample s = stacktrace_sample_init();
	struct chain c = { 0 };

	(void)state;
	s.pid = s.tid = 5;
	s.abi = STACKTRACE_ABI_64;
	s.machine = EM_AARCH64;
	s.perf_mask = stacktrace_preferred_regs_mask(EM_AARCH64);
	s.regs = regs;
	s.n_regs = (size_t)__builtin_popcountll(s.perf_mask);
	regs[s.n_regs - 2] = 0x7fff0000; /* sp, pc */
	regs[s.n_regs - 1] = 0x400000;
	s.stack = stack;
	s.stack_size = sizeof(stack);
	assert_int_equal(stacktrace_sample_getframes(t, &s, collect, &c), STACKTRACE_NO_MAP);
	assert_int_equal(c.cnt, 1);
	assert_int_equal(c.frames[0].pc, 0x400000);
	assert_int_equal(c.frames[0].sp, 0x7fff0000);
	s.machine = EM_386;
	s.mapping = i386;
	s.n_regs = 5;
	s.abi = STACKTRACE_ABI_32;
	regs[0] = 0xffff0000;
	regs[1] = 0x8048000;
	c.cnt = 0;
	assert_int_equal(stacktrace_sample_getframes(t, &s, collect, &c), STACKTRACE_COMPAT);
	assert_int_equal(c.frames[0].pc, 0x8048000);
	assert_int_equal(c.frames[0].sp, 0xffff0000);
	stacktrace_tracker_free(t);
}

static void wrong_options_are_refused(void **state)
{
	static const struct stacktrace_options wrong[] = {
		{ 0 },
		{ .size = sizeof(size_t) },
		{ .size = sizeof(wrong[0]) + 1 },
		{ .size = sizeof(wrong[0]), .source = (enum stacktrace_source)9 },
		{ .size = sizeof(wrong[0]), .proc = "/nothing/there" },
		{ .size = sizeof(wrong[0]), .sysroot = "/nothing/there" },
		{ .size = sizeof(wrong[0]), .cache_dir = "/proc/nothing/there" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		errno = 0;
		assert_null(stacktrace_tracker_new(&wrong[i]));
		assert_int_equal(errno, i < 4 ? EINVAL : ENOENT);
	}
}

/* A caller that must not wait tries again if a file is not in memory. */
static void a_caller_need_not_wait(void **state)
{
	stacktrace_tracker *t = make((struct stacktrace_options){ 0 });
	struct scene s = begin();
	struct chain c = { 0 };
	int got, tries = 0;

	(void)state;
	s.by_mask.flags = STACKTRACE_DONT_WAIT;
	while ((got = stacktrace_sample_getframes(t, &s.by_mask, collect, &c)) == -EAGAIN) {
		assert_int_equal(c.cnt, 0);
		assert_in_range(++tries, 1, 6000);
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	assert_int_equal(got, STACKTRACE_ROOT);
	check_chain(t, &s, &c);
	stacktrace_tracker_free(t);
	end(&s);
}

static size_t open_file_cnt(stacktrace_tracker *t)
{
	struct stacktrace_stats stats = stacktrace_stats_init();

	assert_int_equal(stacktrace_stats(t, &stats), 0);
	return stats.files;
}

/* It also need not open a file that another thread has reached before. */
static void a_scan_opens_files(void **state)
{
	stacktrace_tracker *t = make((struct stacktrace_options){ 0 });
	struct scene s = begin();
	struct chain c = { 0 };
	size_t cnt;

	(void)state;
	assert_int_equal(stacktrace_scan(t), 0);
	cnt = open_file_cnt(t);
	assert_in_range(cnt, 2, SIZE_MAX);
	assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, collect, &c), STACKTRACE_ROOT);
	assert_int_equal(open_file_cnt(t), cnt);
	stacktrace_tracker_free(t);
	end(&s);
}

RUN_TESTS(cmocka_unit_test(walks_as_often_as_one_likes), cmocka_unit_test(reports_are_enough),
	  cmocka_unit_test(proc_is_read_without_reports),
	  cmocka_unit_test(a_program_that_execs_is_read_again),
	  cmocka_unit_test(signals_are_marked), cmocka_unit_test(wrong_calls_are_refused),
	  cmocka_unit_test(other_machines_are_walked), cmocka_unit_test(wrong_options_are_refused),
	  cmocka_unit_test(a_caller_need_not_wait), cmocka_unit_test(a_scan_opens_files))
