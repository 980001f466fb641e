// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include "lib/proc_scene.h"

static void scan_reads_executable_mappings(void **state)
{
	struct world w = begin(state);
	struct process_table_stats stats;
	const struct process *p;

	assert_null(process_table__find(w.table, 10));
	assert_int_equal(process_table__scan(w.table), 0);
	p = process_table__find(w.table, 10);
	assert_string_equal(show(p), "1000 /bin/ten|8000 [vdso]|");
	assert_int_equal(p->maps[0].kind, MAPPING_FILE);
	assert_int_equal(p->maps[0].pgoff, 0x1000);
	assert_int_equal(p->maps[1].kind, MAPPING_VDSO);
	/* below 4 GB: of a 32-bit process, which does not exist here */
	assert_null(p->maps[1].file);
	process_table__stats(w.table, &stats);
	assert_int_equal(stats.processes, 1);
	assert_int_equal(stats.files_failed, 1);
	process_table__free(w.table);
	process_table__free(NULL);
	assert_null(process_table__new(&(struct process_options){ .proc = "/nothing/there" }));
	assert_int_equal(errno, ENOENT);
}

static void find_knows_its_edges(void **state)
{
	struct world w = begin(state);
	const struct process *p = process_table__get(w.table, 10);

	assert_null(process__find(p, 0));
	assert_null(process__find(p, 0xfff));
	assert_ptr_equal(process__find(p, 0x1000), &p->maps[0]);
	assert_ptr_equal(process__find(p, 0x2fff), &p->maps[0]);
	assert_null(process__find(p, 0x3000));
	assert_null(process__find(p, 0x7fff));
	assert_ptr_equal(process__find(p, 0x8fff), &p->maps[1]);
	assert_null(process__find(p, UINT64_MAX));
	p = process_table__get(w.table, 99); /* there is no such process: it has no mappings */
	assert_non_null(p);
	assert_null(process__find(p, 0x1000));
	process_table__free(w.table);
}

static void mappings_have_kinds(void **state)
{
	static const struct {
		const char *path, *shown;
		enum mapping_kind kind;
	} cases[] = {
		{ "/a", "/a", MAPPING_FILE },
		{ "/a (deleted)", "/a", MAPPING_FILE },
		{ "/a (deleted) ", "/a (deleted) ", MAPPING_FILE },
		{ " (deleted)", " (deleted)", MAPPING_ANON },
		{ "", "", MAPPING_ANON },
		{ "//anon", "//anon", MAPPING_ANON },
		{ "[heap]", "[heap]", MAPPING_ANON },
		{ "[anon:v8]", "[anon:v8]", MAPPING_ANON },
		{ "/memfd:doublemapper (deleted)", "/memfd:doublemapper", MAPPING_ANON },
		{ "/SYSV00000000 (deleted)", "/SYSV00000000", MAPPING_ANON },
		{ "/dev/zero (deleted)", "/dev/zero", MAPPING_ANON },
		{ "anon_inode:[perf_event]", "anon_inode:[perf_event]", MAPPING_ANON },
		{ "[vsyscall]", "[vsyscall]", MAPPING_VSYSCALL },
		{ "[uprobes]", "[uprobes]", MAPPING_UPROBES },
		{ "[uprobes-trampoline]", "[uprobes-trampoline]", MAPPING_UPROBES },
		{ "//toolong", "//toolong", MAPPING_FILE },
	};
	struct world w = begin(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct mapping *m;

		process_table__get(w.table, 10);
		map_path(&w, UINT64_MAX, 10, cases[i].path);
		m = process__find(process_table__find(w.table, 10), 0x20000);
		assert_non_null(m);
		assert_string_equal(m->path, cases[i].shown);
		assert_int_equal(m->kind, cases[i].kind);
	}
	apply_mmap(
		&w, UINT64_MAX, 10,
		(struct record_mmap){ .start = UINT64_MAX - 5, .len = 10, .prot = 7, .path = "" });
	apply_mmap(&w, UINT64_MAX, 10,
		   (struct record_mmap){ .start = 0x50000, .len = 10, .prot = 3, .path = "" });
	assert_null(process__find(process_table__find(w.table, 10), UINT64_MAX - 3));
	assert_null(process__find(process_table__find(w.table, 10), 0x50000));
	process_table__free(w.table);
}

static void exec_replaces_and_fork_inherits(void **state)
{
	struct build_id id = { 20, { 1, 2, 3 } };
	struct world w = begin(state);
	uint64_t t;

	process_table__scan(w.table);
	t = monotonic__ns();
	apply_fork(&w, t, 10, 11);
	apply_fork(&w, t, 10, 10); /* a thread */
	assert_string_equal(show_tgid(&w, 11), "1000 /bin/ten|8000 [vdso]|");
	apply_exec(&w, t + 1, 11);
	assert_string_equal(show_tgid(&w, 11), "");
	assert_int_equal(process_table__find(w.table, 11)->build_id.sz, 0);
	assert_string_equal(show_tgid(&w, 10), "1000 /bin/ten|8000 [vdso]|");
	map_path(&w, t + 2, 11, "[vdso]"); /* not a file: not the main executable */
	apply_mmap(&w, t + 3, 11,
		   (struct record_mmap){ .start = 0x1000,
					 .len = 0x1000,
					 .prot = 5,
					 .build_id = id,
					 .path = "/bin/eleven" });
	apply_mmap(&w, t + 4, 11,
		   (struct record_mmap){ .start = 0x2000,
					 .len = 0x1000,
					 .prot = 5,
					 .build_id = { 1, { 9 } },
					 .path = "/lib/so" });
	assert_string_equal(show_tgid(&w, 11), "1000 /bin/eleven|2000 /lib/so|20000 [vdso]|");
	assert_true(build_id__equal(&process_table__find(w.table, 11)->build_id, &id));
	apply_fork(&w, t + 5, 11, 12);
	assert_true(build_id__equal(&process_table__find(w.table, 12)->build_id, &id));
	map_path(&w, t + 6, 12, "/lib/only-the-childs");
	assert_string_equal(show_tgid(&w, 11), "1000 /bin/eleven|2000 /lib/so|20000 [vdso]|");
	assert_string_equal(show_tgid(&w, 12),
			    "1000 /bin/eleven|2000 /lib/so|20000 /lib/only-the-childs|");
	process_table__free(w.table);
}

/* Mappings from /proc are not undone by older records. */
static void records_older_than_the_scan_are_ignored(void **state)
{
	struct world w = begin(state);
	uint64_t before = monotonic__ns();

	process_table__scan(w.table);
	apply_exec(&w, before, 10);
	map_path(&w, before, 10, "/old");
	apply_fork(&w, before, 99, 10);
	apply_exit(&w, before, 10, 10);
	apply_exit(&w, UINT64_MAX - 1, 10, 9); /* makes the table remove dead processes */
	assert_string_equal(show_tgid(&w, 10), "1000 /bin/ten|8000 [vdso]|");
	/* Forked before its parent was scanned: the parent may have exec'd since. */
	set_maps(&w, 20, "5000-6000 r-xp 00000000 00:00 0 /bin/twenty\n");
	apply_fork(&w, before, 10, 20);
	assert_string_equal(show_tgid(&w, 20), "5000 /bin/twenty|");
	/* And one that is gone: its parent's mappings are the best approximation. */
	apply_fork(&w, before, 10, 21);
	assert_string_equal(show_tgid(&w, 21), "1000 /bin/ten|8000 [vdso]|");
	process_table__free(w.table);
}

static void the_dead_are_dropped(void **state)
{
	struct world w = begin(state);
	uint64_t t;

	process_table__scan(w.table);
	t = monotonic__ns();
	apply_fork(&w, t, 10, 11);
	apply_fork(&w, t, 10, 12);
	apply_exit(&w, t + 1, 11, 11);
	apply_exit(&w, t + 1, 12, 13); /* a thread */
	apply_exit(&w, t + 1, 10, 10); /* its first thread only: /proc still has it */
	assert_non_null(process_table__find(w.table, 11)); /* for samples on other CPUs */
	apply_exit(&w, t + 2000000000, 999, 999);
	assert_null(process_table__find(w.table, 11));
	assert_non_null(process_table__find(w.table, 12));
	assert_string_equal(show_tgid(&w, 10), "1000 /bin/ten|8000 [vdso]|");
	/* Its last thread ends, too. */
	shell__run("rm -r %s/10", w.proc);
	apply_exit(&w, t + 4000000000, 999, 999);
	assert_null(process_table__find(w.table, 10));
	/* A scan detects a lost end. */
	process_table__scan(w.table);
	apply_exit(&w, monotonic__ns() + 6000000000, 999, 999);
	assert_null(process_table__find(w.table, 12));
	process_table__free(w.table);
}

static void ids_are_reused(void **state)
{
	struct world w = begin(state);
	uint64_t t;

	process_table__scan(w.table);
	t = monotonic__ns();
	apply_fork(&w, t, 10, 11);
	map_path(&w, t + 1, 11, "/first");
	apply_exit(&w, t + 2, 11, 11);
	apply_fork(&w, t + 3, 10, 11);
	assert_string_equal(show_tgid(&w, 11), "1000 /bin/ten|8000 [vdso]|");
	/* the end of the first is not that of the second */
	apply_exit(&w, t + 1500000000, 999, 999);
	assert_non_null(process_table__find(w.table, 11));
	/* A thread execs: the first thread ends, the process continues. */
	apply_exit(&w, t + 1500000001, 11, 11);
	apply_exec(&w, t + 1500000002, 11);
	map_path(&w, t + 1500000003, 11, "/second");
	apply_exit(&w, t + 4000000000, 999, 999);
	assert_string_equal(show_tgid(&w, 11), "20000 /second|");
	process_table__free(w.table);
}

static void a_dead_first_thread_leaves_the_others_mappings(void **state)
{
	struct world w = begin(state);

	set_maps(&w, 30, "");
	shell__run("mkdir -p %s/30/task/30 %s/30/task/31 && cp %s/10/maps %s/30/task/31/maps",
		   w.proc, w.proc, w.proc, w.proc);
	assert_string_equal(show(process_table__get(w.table, 30)), "1000 /bin/ten|8000 [vdso]|");
	process_table__free(w.table);
}

static void refresh_is_rate_limited(void **state)
{
	struct world w = begin(state);
	struct process *p = process_table__get(w.table, 10);
	uint64_t before_ns = monotonic__ns();

	assert_false(process_table__refresh(w.table, p)); /* nothing new */
	set_maps(&w, 10, "1000-3000 r-xp 00001000 08:01 5 /bin/other\n");
	while (!process_table__refresh(w.table, p)) { /* too early */
		assert_true(monotonic__ns() - before_ns < 60000000000);
		usleep(1000);
	}
	assert_true(monotonic__ns() - before_ns >= 100000000);
	assert_string_equal(show(p), "1000 /bin/other|");
	usleep(110000);
	set_maps(&w, 10, "");
	assert_false(process_table__refresh(w.table, p)); /* gone: the known mappings stay */
	assert_string_equal(show(p), "1000 /bin/other|");
	process_table__free(w.table);
}

static void strange_records_do_nothing(void **state)
{
	struct world w = begin(state);
	struct process_table_stats stats;
	struct record lost = { .type = RECORD_LOST }, sample = { .type = RECORD_SAMPLE };

	process_table__apply(w.table, &lost);
	process_table__apply(w.table, &sample);
	apply_exit(&w, 1, 0, 0);
	apply_exec(&w, 1, UINT32_MAX);
	apply_exit(&w, 1, 77, 77);
	process_table__stats(w.table, &stats);
	assert_int_equal(stats.processes, 0);
	process_table__free(w.table);
}

RUN_TESTS(test_with_folder(scan_reads_executable_mappings), test_with_folder(find_knows_its_edges),
	  test_with_folder(mappings_have_kinds), test_with_folder(exec_replaces_and_fork_inherits),
	  test_with_folder(records_older_than_the_scan_are_ignored),
	  test_with_folder(the_dead_are_dropped), test_with_folder(ids_are_reused),
	  test_with_folder(a_dead_first_thread_leaves_the_others_mappings),
	  test_with_folder(refresh_is_rate_limited), test_with_folder(strange_records_do_nothing))
