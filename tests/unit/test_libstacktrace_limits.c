// SPDX-License-Identifier: GPL-2.0-or-later
/* src/libstacktrace: limits, threads, and downloaded files. */
#include "lib/test.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/debuginfod.h"
#include "lib/scene.h"
#include "lib/shell.h"

static void bounds_hold(void **state)
{
	stacktrace_tracker *t = make((struct stacktrace_options){
		.source = STACKTRACE_TOLD_ONLY, .max_processes = 50, .max_frames = 3 });
	struct stacktrace_mapping m = { .start = 0x1000, .size = 0x1000, .path = "/x" };
	struct stacktrace_stats stats = stacktrace_stats_init();
	struct scene s = begin();
	struct chain c = { 0 };

	(void)state;
	for (pid_t pid = 1; pid < 2000; pid++)
		assert_int_equal(stacktrace_map(t, pid, &m), 0);
	assert_int_equal(stacktrace_stats(t, &stats), 0);
	assert_in_range(stats.processes, 49, 51);
	tell_mappings(t, s.pid, s.pid);
	assert_int_equal(walk(t, &s, s.pid, &c), STACKTRACE_LIMIT);
	assert_int_equal(c.cnt, 3);
	stacktrace_tracker_free(t);
	end(&s);
}

/* Open files of ended programs are closed. */
static void unmapped_files_are_bounded(void **state)
{
	stacktrace_tracker *t =
		make((struct stacktrace_options){ .source = STACKTRACE_TOLD_ONLY, .max_files = 5 });
	struct stacktrace_mapping m = { .start = 0x1000, .size = 0x100000 };
	struct stacktrace_stats stats = stacktrace_stats_init();
	struct stacktrace_place place;
	char path[128];

	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "%s/%d", (char *)*state, i);
		shell__run("cp /bin/true %s && printf %d >>%s", path, i, path);
		chmod(path, 0777); /* untrusted */
		m.path = path;
		assert_int_equal(stacktrace_map(t, 1, &m), 0);
		assert_int_equal(stacktrace_find(t, 1, m.start, &place), 0);
	}
	assert_int_equal(stacktrace_stats(t, &stats), 0);
	assert_in_range(stats.files, 2, 7); /* those, the mapped ones, and its program */
	assert_int_equal(stats.files_missing, 0);
	stacktrace_tracker_free(t);
}

__attribute__((noinline)) static int recurse(int depth)
{
	if (depth == 0)
		pause();
	else
		recurse(depth - 1);
	return getppid(); /* no tail call */
}

static struct scene begin_deep(void)
{
	struct scene s = { .pid = fork(),
			   .event = live__event(),
			   .perf_regs = calloc(17, sizeof(uint64_t)) };

	if (s.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		recurse(20);
		_exit(0);
	}
	live__wait_in(s.pid, SYS_pause);
	assert_true(live__interrupt(s.pid));
	take_sample(&s);
	return s;
}

/* A truncated stack gets callers from the thread's earlier stack. */
static void cut_stacks_are_stitched(void **state)
{
	stacktrace_tracker *t = make((struct stacktrace_options){ .max_stitch = 1 << 20 });
	struct scene s = begin_deep();
	struct chain whole = { 0 }, cut = { 0 };

	(void)state;
	assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, collect, &whole),
			 STACKTRACE_ROOT);
	s.by_mask.flags = STACKTRACE_STACK_IS_CUT;
	s.by_mask.stack_size = whole.frames[15].sp - whole.frames[0].sp;
	assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, collect, &cut),
			 STACKTRACE_STITCHED);
	assert_int_equal(cut.cnt, whole.cnt);
	for (size_t i = 0; i < cut.cnt; i++)
		assert_int_equal(cut.frames[i].pc, whole.frames[i].pc);
	assert_int_equal(cut.frames[10].found, STACKTRACE_BY_CFI);
	assert_int_equal(cut.frames[20].found, STACKTRACE_BY_STITCH);
	s.by_mask.tid++; /* another thread has no such stack */
	cut.cnt = 0;
	assert_int_equal(stacktrace_sample_getframes(t, &s.by_mask, collect, &cut),
			 STACKTRACE_TRUNCATED);
	stacktrace_tracker_free(t);
	end(&s);
}

/* With a limit of no bytes, nothing of a world-writable file is kept. */
static void memory_of_untrusted_files_is_bounded(void **state)
{
	stacktrace_tracker *much = make((struct stacktrace_options){ 0 });
	stacktrace_tracker *nothing = make((struct stacktrace_options){ .max_file_bytes = 1 });
	struct chain c = { 0 };
	struct scene s;
	char path[128];

	snprintf(path, sizeof(path), "%s/sleep", (char *)*state);
	shell__run("cp $(command -v sleep) %s && chmod 777 %s", path, path);
	s = begin_with(path);
	assert_int_equal(walk(much, &s, s.pid, &c), STACKTRACE_ROOT);
	assert_int_not_equal(walk(nothing, &s, s.pid, &c), STACKTRACE_ROOT);
	stacktrace_tracker_free(much);
	stacktrace_tracker_free(nothing);
	end(&s);
}

/* ---- threads ------------------------------------------------------------------------------------
 */

struct worker {
	pthread_t thread;
	stacktrace_tracker *tracker; /* NULL: creates its own one repeatedly */
	struct scene *scene;
	const struct chain *want;
	int wrong;
};

static void work_once(struct worker *w, stacktrace_tracker *t, int turn)
{
	struct chain c = { 0 };
	struct stacktrace_place place;
	bool by_mask = turn % 2;

	w->wrong +=
		stacktrace_sample_getframes(t, by_mask ? &w->scene->by_mask : &w->scene->by_mapping,
					    collect, &c) != STACKTRACE_ROOT;
	w->wrong += c.cnt != w->want->cnt ||
		    memcmp(c.frames, w->want->frames, c.cnt * sizeof(c.frames[0])) != 0;
	w->wrong += stacktrace_find(t, w->scene->pid, c.frames[0].place, &place) != 0;
	stacktrace_fork(t, w->scene->pid, w->scene->pid + 1 + turn % 5);
	stacktrace_exit(t, w->scene->pid + 1 + turn % 5);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < 40; i++) {
		stacktrace_tracker *t = w->tracker ? w->tracker : stacktrace_tracker_new(NULL);

		for (int turn = 0; turn < 25; turn++)
			work_once(w, t, turn);
		if (!w->tracker)
			stacktrace_tracker_free(t);
	}
	return NULL;
}

/* One tracker shared by threads, and other trackers, at the same time. */
static void threads_may_share_or_not(void **state)
{
	stacktrace_tracker *shared = stacktrace_tracker_new(NULL);
	struct worker workers[6];
	struct scene s = begin();
	struct chain want = { 0 };

	(void)state;
	assert_int_equal(walk(shared, &s, s.pid, &want), STACKTRACE_ROOT);
	for (int i = 0; i < 6; i++) {
		workers[i] = (struct worker){ .tracker = i < 4 ? shared : NULL,
					      .scene = &s,
					      .want = &want };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 6; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].wrong, 0);
	}
	stacktrace_tracker_free(shared);
	end(&s);
}

/* Generated code has the names that its process publishes. */
static void jit_code_has_names(void **state)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stacktrace_tracker *t = make((struct stacktrace_options){ 0 });
	struct stacktrace_place place;
	char path[64];
	FILE *map;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	assert_non_null(map);
	fprintf(map, "%lx 100 made_up\n", (unsigned long)code + 0x200);
	fclose(map);
	assert_int_equal(stacktrace_scan(t), 0);
	assert_int_equal(stacktrace_find(t, getpid(), (uintptr_t)code + 0x210, &place), 0);
	assert_string_equal(place.symbol, "made_up");
	assert_int_equal(place.symbol_start, (uintptr_t)code + 0x200);
	assert_string_equal(place.module, "");
	assert_int_equal(stacktrace_find(t, getpid(), (uintptr_t)code + 0x400, &place), 0);
	assert_string_equal(place.symbol, "");
	unlink(path);
	munmap(code, 4096);
	stacktrace_tracker_free(t);
}

/* ---- debuginfod ---- */

static void tell_gone(const struct record_mmap *m, void *arg)
{
	struct telling *to = arg;
	struct elf_file *f = m->path[0] == '/' ? elf_file__open(m->path) : NULL;
	struct stacktrace_mapping out = {
		.start = m->start, .size = m->len, .offset = m->pgoff, .path = "/gone"
	};

	if (!f)
		return;
	out.build_id = f->build_id.bytes;
	out.build_id_size = f->build_id.sz;
	assert_int_equal(stacktrace_map(to->tracker, to->pid, &out), 0);
	elf_file__put(f);
}

static void note(const struct stacktrace_downloads *d, void *arg)
{
	*(struct stacktrace_downloads *)arg = *d;
}

/* A program and its libc that are not on this machine: a server has the call-frame information. */
static void files_come_from_a_server(void **state)
{
	struct elf_file *libc = elf_file__open("/lib/x86_64-linux-gnu/libc.so.6");
	struct stacktrace_downloads seen = { 0 };
	struct scene s;
	struct telling to;
	struct chain c = { 0 };
	stacktrace_tracker *t;
	char url[64], path[64];
	pid_t server;
	int fd, status = 0;

	if (!shell__has("debuginfod") || !libc)
		skip_because("debuginfod is not installed, or libc is elsewhere");
	s = begin();
	shell__run("mkdir %s/served && cp /lib/x86_64-linux-gnu/libc.so.6 $(command -v sleep) "
		   "%s/served",
		   (char *)*state, (char *)*state);
	close(debuginfod__listen(url));
	server = debuginfod__start(*state, url);
	debuginfod__wait(url, &libc->build_id);
	debuginfod__set(url, *state);
	t = make((struct stacktrace_options){ .source = STACKTRACE_TOLD_ONLY,
					      .build_id_dirs = (const char *[]){ NULL },
					      .debuginfod = true,
					      .on_download = note,
					      .arg = &seen });
	to = (struct telling){ t, s.pid, 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", s.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	maps__read(fd, tell_gone, &to);
	close(fd);
	assert_int_not_equal(walk(t, &s, s.pid, &c), STACKTRACE_ROOT);
	for (int file = 0; file < 2; file++) { /* libc's callers are in the program */
		assert_int_equal(stacktrace_settle(t, 20000000000), 0);
		status = walk(t, &s, s.pid, &c);
	}
	assert_int_equal(status, STACKTRACE_ROOT);
	check_chain(t, &s, &c);
	stacktrace_tracker_free(t);
	assert_int_equal(seen.pending, 0);
	assert_in_range(seen.found, 2, 3);
	end(&s);
	elf_file__put(libc);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

RUN_TESTS(cmocka_unit_test(bounds_hold), test_with_folder(memory_of_untrusted_files_is_bounded),
	  test_with_folder(unmapped_files_are_bounded), cmocka_unit_test(cut_stacks_are_stitched),
	  cmocka_unit_test(jit_code_has_names), cmocka_unit_test(threads_may_share_or_not),
	  test_with_folder(files_come_from_a_server))
