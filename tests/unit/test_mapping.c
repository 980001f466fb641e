// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening mapped files. */
#include "lib/test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/sysmacros.h>

#include "base/jobs.h"
#include "base/openfiles.h"
#include "lib/elfmaker.h"
#include "lib/proc_scene.h"

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

/* The process's root folder is searched before the host's; links in it stay in it. */
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
	/* An absolute link in the root folder refers to a file in it, not to the host's. */
	b = elfmaker__make(5, "f");
	put_elf("", host, &b);
	assert_null(map_elf(&w, "/link/x.so", 5)->file);
	put_elf(root, host, &b);
	assert_non_null(map_elf(&w, "/link/x.so", 5)->file);
	process_table__free(w.table);
}

/* Without a build ID, the device and inode must match. */
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

/* Returns whether a mapping that cannot be queried has its file. */
static bool is_known(struct world *w, struct record_mmap m)
{
	m.path = "/nowhere";
	process_table__get(w->table, 10);
	apply_mmap(w, UINT64_MAX, 10, m);
	return process__find(process_table__find(w->table, 10), m.start)->file != NULL;
}

/* /proc is not read for a file that is known, unless the file has changed, or its number may be
 * reused. */
static void files_are_known_by_their_numbers(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct world w = begin(state);
	struct record_mmap m, other;
	char path[128];

	snprintf(path, sizeof(path), "%s/x.so", w.proc);
	put_elf("", path, &made);
	m = mapped(path);
	if (m.maj == 0 || geteuid() != 0)
		skip();
	set_maps(&w, 11, "1000-3000 r-xp 00001000 08:01 5 /bin/eleven\n");
	shell__run("mkdir %s/11/map_files && ln -s %s %s/11/map_files/40000-41000", w.proc, path,
		   w.proc);
	assert_false(is_known(&w, m));
	for (int i = 0; i < 2; i++) {
		process_table__get(w.table, 11);
		apply_mmap(&w, UINT64_MAX, 11, m);
		process__find(process_table__find(w.table, 11), m.start);
		apply_exec(&w, UINT64_MAX, 11);
	}
	assert_true(is_known(&w, m));
	other = m;
	other.ino++;
	assert_false(is_known(&w, other));
	other = m;
	other.maj = 0;
	assert_false(is_known(&w, other));
	usleep(20000); /* the kernel's file times advance in ticks */
	put_elf("", path, &made);
	assert_int_equal(mapped(path).ino, m.ino);
	assert_false(is_known(&w, m));
	process_table__free(w.table);
}

/* A process can choose any path. None may block us. */
static void no_path_blocks(void **state)
{
	static const char *const names[] = { "fifo", "loop", "folder", "no-elf", "/dev/null" };
	struct world w = begin(state);
	char path[128];

	shell__run("cd %s && mkfifo fifo && ln -s loop loop && mkdir folder && echo x >no-elf",
		   w.proc);
	alarm(60);
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

/* The caller does not wait: the file appears later, also in a process that the caller has kept. */
static void files_are_opened_by_jobs(void **state)
{
	struct jobs *jobs = jobs__new();
	struct process_table *t =
		process_table__new(&(struct process_options){ .jobs = jobs, .proc = "/proc" });
	struct process *p = process_table__get(t, (uint32_t)getpid()), kept = process__keep(p);
	const uint64_t here = (uint64_t)(uintptr_t)files_are_opened_by_jobs;
	const struct mapping *m = process__find(p, here);
	struct process_table_stats stats;

	(void)state;
	assert_true(jobs__pending(jobs) > 0);
	assert_true(m && m->opening && !m->file);
	assert_false(process__settled(p));
	assert_true(jobs__wait(jobs, 20000000000));
	assert_true(process__settled(p) && process__settled(&kept));
	m = process__find(&kept, here);
	assert_true(m && m->file && !m->opening);
	assert_true(build_id__equal(&p->build_id, &m->file->build_id));
	assert_true(build_id__equal(&kept.build_id, &p->build_id));
	process_table__scan(t); /* known files are there at once */
	assert_true(process__settled(process_table__get(t, (uint32_t)getpid())));
	process_table__stats(t, &stats);
	assert_true(stats.files > 1);
	jobs__free(jobs);
	process__drop(&kept);
	process_table__free(t);
}

static size_t open_file_cnt(const struct world *w)
{
	struct process_table_stats stats;

	process_table__stats(w->table, &stats);
	return stats.files;
}

/* Mapped files are held, so that they exist when a walk reaches them, and opened then. */
static void files_are_opened_when_asked_for(void **state)
{
	struct made_elf made = elfmaker__make(7, "f");
	struct world w = begin_with_11(state);
	const struct mapping *m;
	char path[128];

	snprintf(path, sizeof(path), "%s/x.so", w.proc);
	put_elf("", path, &made);
	for (uint64_t i = 0; i < 3; i++)
		map_into_11(&w, path, 0x40000 + i * 0x10000);
	assert_int_equal(open_file_cnt(&w), 0);
	shell__run("rm -r %s %s/11", path, w.proc);
	for (uint64_t i = 0; i < 3; i++) {
		m = process__find(process_table__find(w.table, 11), 0x40000 + i * 0x10000);
		assert_non_null(m->file);
		assert_int_equal(m->build_id.bytes[0], 7);
		assert_int_equal(open_file_cnt(&w), 1);
	}
	process_table__free(w.table);
}

/* Makes jobs open the files of a world's table. */
static struct jobs *use_jobs(struct world *w)
{
	struct jobs *jobs = jobs__new();

	process_table__free(w->table);
	w->table = process_table__new(&(struct process_options){ .jobs = jobs, .proc = w->proc });
	return jobs;
}

/* For a mapping of which only the name is known. */
static const struct mapping *map_into_10(struct world *w, struct record_mmap m, struct jobs *jobs)
{
	struct process *p;

	process_table__get(w->table, 10);
	apply_mmap(w, UINT64_MAX, 10, m);
	p = process_table__find(w->table, 10);
	process__settled(p);
	assert_true(jobs__wait(jobs, 20000000000));
	return process__find(p, m.start);
}

/* A file that is gone is found by its name from other mappings, even if no walk has reached it. */
static void files_of_the_gone_are_known_by_name(void **state)
{
	struct made_elf made = elfmaker__make(7, "f");
	struct world w = begin_with_11(state);
	struct jobs *jobs = use_jobs(&w);
	struct record_mmap m, other;
	char path[128];

	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/x.so", w.proc);
	put_elf("", path, &made);
	m = mapped(path);
	m.maj = 0;
	m.min = 77; /* like overlayfs, or below it */
	shell__run("ln -s %s %s/11/map_files/40000-41000", path, w.proc);
	process_table__get(w.table, 11);
	apply_mmap(&w, UINT64_MAX, 11, m);
	assert_true(jobs__wait(jobs, 20000000000));
	other = m;
	shell__run("rm -r %s %s/11", path, w.proc);
	other.path = "/nowhere"; /* the number may also exist on another device */
	assert_null(map_into_10(&w, other, jobs)->file);
	assert_non_null(map_into_10(&w, m, jobs)->file);
	jobs__free(jobs);
	process_table__free(w.table);
}

static int fd_cnt(void)
{
	DIR *d = opendir("/proc/self/fd");
	int cnt = 0;

	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt;
}

/* A process that maps thousands of files does not use up all descriptors. */
static void not_many_files_are_held(void **state)
{
	int before = fd_cnt(), cnt = 1200;
	struct world w = begin_with_11(state);
	char path[128];

	openfiles__raise();
	for (int i = 0; i < cnt; i++) {
		snprintf(path, sizeof(path), "%s/no-elf-%d", w.proc, i);
		shell__write(w.proc, strrchr(path, '/') + 1, "x");
		map_into_11(&w, path, 0x40000 + (uint64_t)i * 0x1000);
	}
	assert_in_range(fd_cnt() - before, 2, 1100);
	assert_true(process__open(process_table__find(w.table, 11)));
	assert_in_range(fd_cnt() - before, 0, 20);
	process_table__free(w.table);
	assert_int_equal(fd_cnt(), before);
}

/* Returns a file at `path` with that build ID, and the kernel's record of a mapping of it. */
static struct record_mmap make_file(const struct world *w, const char *name, unsigned char id,
				    char path[128])
{
	struct made_elf made = elfmaker__make(id, "f");

	snprintf(path, 128, "%s/%s", w->proc, name);
	put_elf("", path, &made);
	return mapped(path);
}

static unsigned char build_id_in(struct world *w, uint32_t tgid, struct record_mmap m)
{
	process_table__get(w->table, tgid);
	apply_mmap(w, UINT64_MAX, tgid, m);
	return process__find(process_table__find(w->table, tgid), m.start)->build_id.bytes[0];
}

/* A process that maps another file in the same place does not give its names to the first. */
static void files_do_not_take_the_names_of_others(void **state)
{
	struct world w = begin_with_11(state);
	char first_path[128], then_path[128];
	struct record_mmap first = make_file(&w, "first", 1, first_path);

	if (first.maj == 0 || geteuid() != 0)
		skip();
	make_file(&w, "then", 2, then_path);
	shell__run("ln -s %s %s/11/map_files/40000-41000", then_path, w.proc);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(build_id_in(&w, 11, first), 2);
		apply_exec(&w, UINT64_MAX, 11);
	}
	assert_int_equal(build_id_in(&w, 10, first), 1);
	process_table__free(w.table);
}

struct flicker {
	char link[160], new_link[160], paths[2][128];
	atomic_bool stop;
};

static void *flicker(void *arg)
{
	struct flicker *f = arg;

	for (int i = 0; !f->stop; i++) {
		assert_int_equal(symlink(f->paths[i % 2], f->new_link), 0);
		assert_int_equal(rename(f->new_link, f->link), 0);
	}
	return NULL;
}

/* This also holds if files are exchanged all the time, for any interleaving. */
static void files_that_are_exchanged_are_told_apart(void **state)
{
	struct world w = begin_with_11(state);
	struct flicker f = { .stop = false };
	struct record_mmap m = make_file(&w, "first", 1, f.paths[0]);
	pthread_t thread;

	make_file(&w, "then", 2, f.paths[1]);
	snprintf(f.link, sizeof(f.link), "%s/11/map_files/40000-41000", w.proc);
	snprintf(f.new_link, sizeof(f.new_link), "%s/new", w.proc);
	assert_int_equal(symlink(f.paths[0], f.link), 0);
	set_maps(&w, 12, "1000-3000 r-xp 00001000 00:00 0 \n");
	shell__run("mkdir %s/12/map_files && ln -s %s %s/12/map_files/40000-41000", w.proc,
		   f.paths[0], w.proc);
	assert_int_equal(pthread_create(&thread, NULL, flicker, &f), 0);
	for (int i = 0; i < 1000; i++) {
		process_table__free(w.table);
		w.table = process_table__new(&(struct process_options){ .proc = w.proc });
		process_table__get(w.table, 11);
		apply_mmap(&w, UINT64_MAX, 11, m);
		assert_int_equal(build_id_in(&w, 12, m), 1);
	}
	f.stop = true;
	pthread_join(thread, NULL);
	process_table__free(w.table);
}

/* It also does not while jobs have not opened them yet. */
static void not_many_files_are_held_for_jobs(void **state)
{
	int before = fd_cnt(), cnt = 4000;
	struct world w = begin_with_11(state);
	struct jobs *jobs = use_jobs(&w);
	struct process *p;
	char path[128];

	openfiles__raise();
	process_table__get(w.table, 11);
	for (int i = 0; i < cnt; i++) {
		snprintf(path, sizeof(path), "%s/no-elf-%d", w.proc, i);
		shell__write(w.proc, strrchr(path, '/') + 1, "x");
		map_into_11(&w, path, 0x40000 + (uint64_t)i * 0x1000);
	}
	assert_in_range(fd_cnt() - before, 2, 2100);
	p = process_table__find(w.table, 11);
	while (!process__settled(p))
		assert_true(jobs__wait(jobs, 20000000000));
	assert_in_range(fd_cnt() - before, 0, 20);
	jobs__free(jobs);
	process_table__free(w.table);
	assert_int_equal(fd_cnt(), before);
}

/* All processes that map a file while it is being opened share the opening. */
static void an_opening_is_shared(void **state)
{
	struct jobs *jobs = jobs__new();
	struct world w = { .table = process_table__new(
				   &(struct process_options){ .jobs = jobs, .proc = "/proc" }) };
	struct process *p = process_table__get(w.table, (uint32_t)getpid());
	const struct mapping *m = process__find(p, (uint64_t)(uintptr_t)files_are_opened_by_jobs);
	struct record_mmap same = mapped("/proc/self/exe");
	struct open_job *opening = m->opening;

	(void)state;
	assert_non_null(opening);
	if (same.maj == 0)
		skip();
	for (int i = 0; i < 2; i++) {
		same.ino += (uint64_t)i;
		apply_mmap(&w, monotonic__ns(), 5000000, same);
		m = process__find(process_table__find(w.table, 5000000), same.start);
		assert_int_equal(m->opening == opening, i == 0);
	}
	jobs__free(jobs);
	process_table__free(w.table);
}

RUN_TESTS(test_with_folder(files_are_the_ones_the_process_sees),
	  test_with_folder(inodes_are_compared), test_with_folder(no_path_blocks),
	  test_with_folder(hostile_paths_do_not_add_up), test_with_folder(files_are_opened_by_jobs),
	  test_with_folder(files_are_known_by_their_numbers),
	  test_with_folder(files_are_opened_when_asked_for),
	  test_with_folder(files_of_the_gone_are_known_by_name),
	  test_with_folder(not_many_files_are_held),
	  test_with_folder(files_do_not_take_the_names_of_others),
	  test_with_folder(files_that_are_exchanged_are_told_apart),
	  test_with_folder(not_many_files_are_held_for_jobs),
	  test_with_folder(an_opening_is_shared))
