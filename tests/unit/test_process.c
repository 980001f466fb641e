// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/monotonic.h"
#include "elfmaker.h"
#include "process/process.h"
#include "shell.h"

/* A /proc of our own, with process 10 and whatever a test adds. */
struct world {
	char proc[64];
	struct process_table *table;
};

static void set_maps(const struct world *w, unsigned tgid, const char *maps)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u", w->proc, tgid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%u/maps", w->proc, tgid);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(maps, f);
	fclose(f);
}

static struct world begin(void **state)
{
	struct world w;

	snprintf(w.proc, sizeof(w.proc), "%s", (char *)*state);
	set_maps(&w, 10,
		 "1000-3000 r-xp 00001000 08:01 5 /bin/ten\n"
		 "3000-4000 rw-p 00003000 08:01 5 /bin/ten\n"
		 "8000-9000 r-xp 00000000 00:00 0 [vdso]\n");
	w.table = process_table__new(w.proc);
	assert_non_null(w.table);
	return w;
}

/* Starts and paths of the mappings. */
static const char *show(const struct process *p)
{
	static char text[4096];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; p && i < p->map_cnt; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%lx %s|", p->maps[i].start,
				       p->maps[i].path);
	return text;
}

static const char *show_tgid(const struct world *w, uint32_t tgid)
{
	return show(process_table__find(w->table, tgid));
}

static void apply_mmap(struct world *w, uint64_t time_ns, uint32_t tgid, struct record_mmap m)
{
	struct record r = { RECORD_MMAP, time_ns, tgid, tgid, 0, { .mmap = m } };

	process_table__apply(w->table, &r);
}

static void map_path(struct world *w, uint64_t time_ns, uint32_t tgid, const char *path)
{
	apply_mmap(w, time_ns, tgid,
		   (struct record_mmap){ .start = 0x20000,
					 .len = 0x1000,
					 .prot = PROT_READ | PROT_EXEC,
					 .path = path });
}

static void apply_exec(struct world *w, uint64_t time_ns, uint32_t tgid)
{
	struct record r = { RECORD_COMM, time_ns, tgid, tgid, 0, { .comm = { "x", true } } };

	process_table__apply(w->table, &r);
}

static void apply_fork(struct world *w, uint64_t time_ns, uint32_t parent, uint32_t tgid)
{
	struct record r = { RECORD_FORK, time_ns, tgid, tgid, 0, { .fork = { parent, parent } } };

	process_table__apply(w->table, &r);
}

static void apply_exit(struct world *w, uint64_t time_ns, uint32_t tgid, uint32_t tid)
{
	struct record r = { RECORD_EXIT, time_ns, tgid, tid, 0, { .fork = { 1, 1 } } };

	process_table__apply(w->table, &r);
}

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
	assert_null(p->maps[1].file); /* below 4 GB: a 32-bit process's, which we do not have */
	process_table__stats(w.table, &stats);
	assert_int_equal(stats.processes, 1);
	assert_int_equal(stats.files_failed, 1);
	process_table__free(w.table);
	process_table__free(NULL);
	assert_null(process_table__new("/nothing/there"));
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
	p = process_table__get(w.table, 99); /* there is none: it has nothing mapped */
	assert_non_null(p);
	assert_null(process__find(p, 0x1000));
	process_table__free(w.table);
}

static void kinds_of_mappings(void **state)
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
	map_path(&w, t + 2, 11, "[vdso]"); /* no file: not the main executable */
	apply_mmap(&w, t + 3, 11,
		   (struct record_mmap){ 0x1000, 0x1000, 0, 5, 0, 0, 0, id, "/bin/eleven" });
	apply_mmap(&w, t + 4, 11,
		   (struct record_mmap){ 0x2000, 0x1000, 0, 5, 0, 0, 0, { 1, { 9 } }, "/lib/so" });
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

/* What /proc said already is not undone by records of the time before. */
static void records_older_than_the_scan_are_ignored(void **state)
{
	struct world w = begin(state);
	uint64_t before = monotonic__ns();

	process_table__scan(w.table);
	apply_exec(&w, before, 10);
	map_path(&w, before, 10, "/old");
	apply_fork(&w, before, 99, 10);
	apply_exit(&w, before, 10, 10);
	apply_exit(&w, UINT64_MAX - 1, 10, 9); /* makes the table look for the dead */
	assert_string_equal(show_tgid(&w, 10), "1000 /bin/ten|8000 [vdso]|");
	/* Forked before its parent was scanned: the parent may have exec'd since. */
	set_maps(&w, 20, "5000-6000 r-xp 00000000 00:00 0 /bin/twenty\n");
	apply_fork(&w, before, 10, 20);
	assert_string_equal(show_tgid(&w, 20), "5000 /bin/twenty|");
	/* And one that is gone: its parent's are the best there is. */
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
	apply_exit(&w, t + 1, 10, 10); /* its first thread only: /proc has it still */
	assert_non_null(process_table__find(w.table, 11)); /* for samples on other CPUs */
	apply_exit(&w, t + 2000000000, 999, 999);
	assert_null(process_table__find(w.table, 11));
	assert_non_null(process_table__find(w.table, 12));
	assert_string_equal(show_tgid(&w, 10), "1000 /bin/ten|8000 [vdso]|");
	/* Its last thread goes too. */
	shell__run("rm -r %s/10", w.proc);
	apply_exit(&w, t + 4000000000, 999, 999);
	assert_null(process_table__find(w.table, 10));
	/* Of a lost end a scan takes note. */
	process_table__scan(w.table);
	apply_exit(&w, monotonic__ns() + 6000000000, 999, 999);
	assert_null(process_table__find(w.table, 12));
	process_table__free(w.table);
}

static void ids_are_used_again(void **state)
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
	apply_exit(&w, t + 1500000000, 999, 999); /* the first one's end is not the second's */
	assert_non_null(process_table__find(w.table, 11));
	/* A thread execs: the first thread ends, the process goes on. */
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

	assert_false(process_table__refresh(w.table, p)); /* nothing new */
	set_maps(&w, 10, "1000-3000 r-xp 00001000 08:01 5 /bin/other\n");
	assert_false(process_table__refresh(w.table, p)); /* too early */
	usleep(110000);
	assert_true(process_table__refresh(w.table, p));
	assert_string_equal(show(p), "1000 /bin/other|");
	usleep(110000);
	set_maps(&w, 10, "");
	assert_false(process_table__refresh(w.table, p)); /* gone: what was known stays */
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

/* ---- opening ------------------------------------------------------------------------------------
 */

static void put_elf(const char *root, const char *path, const struct made_elf *made)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s%s", root, path);
	fd = elfmaker__write(full, made, sizeof(*made));
	assert_true(fd >= 0);
	close(fd);
}

static const struct mapping *map_elf(struct world *w, const char *path, unsigned char id)
{
	struct record_mmap m = { .start = 0x40000, .len = 0x1000, .prot = 5, .path = path };

	m.build_id.sz = 20;
	memset(m.build_id.bytes, id, 20);
	process_table__get(w->table, 10);
	apply_mmap(w, UINT64_MAX, 10, m);
	return process__find(process_table__find(w->table, 10), 0x40000);
}

/* The process's root folder comes before the host's, links in it stay in it. */
static void files_are_the_ones_the_process_sees(void **state)
{
	struct made_elf a = elfmaker__make(1, "f"), b = elfmaker__make(2, "f");
	struct world w = begin(state);
	const struct mapping *m;
	char root[128], host[128];

	snprintf(root, sizeof(root), "%s/10/root", w.proc);
	snprintf(host, sizeof(host), "%s/lib", w.proc);
	shell__run("mkdir -p %s%s %s && ln -s %s %s/link", root, host, host, host, root);
	snprintf(host, sizeof(host), "%s/lib/x.so", w.proc);
	put_elf(root, host, &a);
	put_elf("", host, &b);
	m = map_elf(&w, host, 1);
	assert_non_null(m->file);
	assert_int_equal(m->file->build_id.bytes[0], 1);
	m = map_elf(&w, host, 2); /* the host's is the one with this build ID */
	assert_non_null(m->file);
	assert_int_equal(m->file->build_id.bytes[0], 2);
	m = map_elf(&w, host, 3); /* neither */
	assert_null(m->file);
	assert_int_equal(m->build_id.bytes[0], 3);
	assert_int_equal(m->kind, MAPPING_FILE);
	/* Gone, but a trusted file with that build ID was opened before. */
	shell__run("rm %s", host);
	m = map_elf(&w, "/gone/long/ago.so (deleted)", 2);
	assert_int_equal(m->file != NULL, geteuid() == 0);
	/* An absolute link in the root folder leads to what is in it, not to the host's. */
	b = elfmaker__make(5, "f");
	put_elf("", host, &b);
	assert_null(map_elf(&w, "/link/x.so", 5)->file);
	put_elf(root, host, &b);
	assert_non_null(map_elf(&w, "/link/x.so", 5)->file);
	process_table__free(w.table);
}

/* Without a build ID the device and inode must be the same. */
static void inodes_are_compared(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct record_mmap m = { .start = 0x40000, .len = 0x1000, .prot = 5 };
	struct world w = begin(state);
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/x.so", w.proc);
	put_elf("", path, &made);
	assert_int_equal(stat(path, &st), 0);
	m.path = path;
	m.maj = (uint32_t)(st.st_dev >> 8);
	m.min = (uint32_t)(st.st_dev & 0xff);
	process_table__get(w.table, 10);
	for (int i = 0; i < 3; i++) {
		m.ino = i == 0 ? 0 : st.st_ino + (i == 1);
		apply_mmap(&w, UINT64_MAX, 10, m);
		assert_int_equal(process__find(process_table__find(w.table, 10), 0x40000)->file !=
					 NULL,
				 i == 2);
	}
	process_table__free(w.table);
}

/* A path that a process names can be anything. None of it may block us. */
static void no_path_blocks(void **state)
{
	static const char *const names[] = { "fifo", "loop", "folder", "no-elf", "/dev/null" };
	struct world w = begin(state);
	char path[128];

	shell__run("cd %s && mkfifo fifo && ln -s loop loop && mkdir folder && echo x >no-elf",
		   w.proc);
	alarm(10);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s%s%s", names[i][0] == '/' ? "" : w.proc,
			 names[i][0] == '/' ? "" : "/", names[i]);
		assert_null(map_elf(&w, path, 1)->file);
	}
	alarm(0);
	process_table__free(w.table);
}

/* A process that maps file after file leaves nothing behind. */
static void hostile_paths_do_not_add_up(void **state)
{
	struct world w = begin(state);
	char path[3000];

	process_table__get(w.table, 10);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 50000; i++) {
		snprintf(path + 1, 9, "%08d", i);
		path[9] = 'x';
		map_path(&w, UINT64_MAX, 10, path);
	}
	assert_int_equal(process_table__find(w.table, 10)->map_cnt, 3);
	process_table__free(w.table);
}

RUN_TESTS(test_with_folder(scan_reads_executable_mappings), test_with_folder(find_knows_its_edges),
	  test_with_folder(kinds_of_mappings), test_with_folder(exec_replaces_and_fork_inherits),
	  test_with_folder(records_older_than_the_scan_are_ignored),
	  test_with_folder(the_dead_are_dropped), test_with_folder(ids_are_used_again),
	  test_with_folder(a_dead_first_thread_leaves_the_others_mappings),
	  test_with_folder(refresh_is_rate_limited), test_with_folder(strange_records_do_nothing),
	  test_with_folder(files_are_the_ones_the_process_sees),
	  test_with_folder(inodes_are_compared), test_with_folder(no_path_blocks),
	  test_with_folder(hostile_paths_do_not_add_up))
