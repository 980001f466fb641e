// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "lib/elfmaker.h"
#include "capture/sideband.h"
#include "process/process.h"
#include "lib/shell.h"

/* Real processes, according to the kernel's records. */
struct watch {
	struct sideband *sideband;
	struct process_table *table;
	int epoll_fd;
	uint32_t tgid; /* the process that is followed to its end */
	bool ended;
	char maps[4096]; /* its mappings just before its end, see note_maps() */
	struct build_id exe;
};

static struct watch watch__new(void)
{
	struct watch w = { .sideband = sideband__new(16), .epoll_fd = epoll_create1(0) };

	if (!w.sideband &&
	    (errno == ENOSYS || errno == ENOENT || errno == EPERM || errno == EACCES))
		skip_because("perf_event_open: %s", strerror(errno));
	assert_non_null(w.sideband);
	w.table = process_table__new(&(struct process_options){ .proc = "/proc" });
	assert_non_null(w.table);
	assert_int_equal(sideband__enable(w.sideband), 0);
	assert_int_equal(sideband__add_to_epoll(w.sideband, w.epoll_fd), 0);
	assert_int_equal(process_table__scan(w.table), 0);
	return w;
}

static void watch__free(struct watch *w)
{
	sideband__free(w->sideband);
	process_table__free(w->table);
	close(w->epoll_fd);
}

/* Writes "path " for each mapping, "path? " if its file could not be opened. */
static void note_maps(struct watch *w, struct process *p)
{
	size_t at = 0;

	process__settled(p);
	w->maps[0] = '\0';
	w->exe = p->build_id;
	for (size_t i = 0; i < p->map_cnt && at < sizeof(w->maps); i++)
		at += (size_t)snprintf(w->maps + at, sizeof(w->maps) - at, "%s%s ", p->maps[i].path,
				       p->maps[i].file ? "" : "?");
}

static void on_record(const struct record *r, size_t cnt, void *arg)
{
	struct watch *w = arg;
	struct process *p = process_table__find(w->table, r->tgid);

	assert_int_equal(cnt, 1); /* not a sample */
	assert_true(r->time_ns <= monotonic__ns());
	if (r->type == RECORD_EXIT && r->tgid == w->tgid && r->tid == w->tgid && p) {
		w->ended = true;
		note_maps(w, p);
	}
	process_table__apply(w->table, r);
}

static void drain(struct watch *w)
{
	struct stream *const *streams;
	size_t cnt = sideband__streams(w->sideband, &streams);
	struct streams order = { calloc(cnt, sizeof(*order.v)), cnt };

	assert_non_null(order.v);
	memcpy(order.v, streams, cnt * sizeof(*streams));
	merge__drain(&order, monotonic__ns(), on_record, w);
	free(order.v);
}

/* Follows the process until its end is reported. */
static void follow(struct watch *w, pid_t pid)
{
	uint64_t until_ns = monotonic__ns() + 60000000000;
	struct epoll_event e;
	int status;

	w->tgid = (uint32_t)pid;
	while (!w->ended && monotonic__ns() < until_ns) {
		epoll_wait(w->epoll_fd, &e, 1, 100);
		drain(w);
	}
	assert_true(w->ended);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool has(const struct watch *w, const char *mapping)
{
	const char *at = w->maps;
	size_t sz = strlen(mapping);

	while ((at = strstr(at, mapping))) {
		if ((at == w->maps || at[-1] == ' ') && at[sz] == ' ')
			return true;
		at += sz;
	}
	print_message("no '%s' in: %s\n", mapping, w->maps);
	return false;
}

static struct build_id build_id_of(const char *path)
{
	struct elf_file *f = elf_file__open(path);
	struct build_id id;

	assert_non_null(f);
	id = f->build_id;
	elf_file__put(f);
	return id;
}

static pid_t spawn(const char *path, const char *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(path, path, arg, NULL);
		_exit(127);
	}
	return pid;
}

static void scan_knows_what_runs(void **state)
{
	struct watch w = watch__new();
	struct process *p = process_table__get(w.table, (uint32_t)getpid());
	const struct mapping *m = process__find(p, (uint64_t)(uintptr_t)getenv);
	struct build_id exe = build_id_of("/proc/self/exe");
	bool vdso = false;

	(void)state;
	assert_true(process__named(p) && build_id__equal(&p->build_id, &exe));
	assert_non_null(m);
	assert_non_null(m->file);
	assert_non_null(strstr(m->path, "libc"));
	assert_true(build_id__equal(&m->build_id, &m->file->build_id));
	for (size_t i = 0; i < p->map_cnt; i++)
		vdso |= p->maps[i].kind == MAPPING_VDSO && p->maps[i].file &&
			p->maps[i].file->build_id.sz > 0;
	assert_true(vdso);
	watch__free(&w);
	sideband__free(NULL);
}

/* Waits until the process is known to run this program, or has ended. */
static void drain_until_known(struct watch *w, const struct build_id *exe)
{
	struct process *p;

	do {
		drain(w);
		p = process_table__find(w->table, w->tgid);
	} while (!w->ended && !(p && process__named(p) && build_id__equal(&p->build_id, exe)));
}

/* It lives 20 ms and its program is deleted before it ends: its files are still found. */
static void short_lives_have_names(void **state)
{
	struct watch w = watch__new();
	struct build_id id;
	char path[128];

	snprintf(path, sizeof(path), "%s/short lived", (char *)*state);
	shell__run("cp $(command -v sleep) '%s' && chown 1000 '%s'", path, path);
	id = build_id_of(path);
	w.tgid = (uint32_t)spawn(path, "0.02");
	drain_until_known(&w, &id);
	unlink(path);
	follow(&w, (pid_t)w.tgid);
	assert_true(has(&w, path));
	assert_true(build_id__equal(&w.exe, &id));
	assert_non_null(strstr(w.maps, "/libc.so.6 "));
	watch__free(&w);
}

/* Nothing was read before it ended: its program is found by path. */
static void the_gone_have_names(void **state)
{
	struct watch w = watch__new();
	pid_t pid = spawn("/bin/true", NULL);
	char real[4096];

	(void)state;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	w.tgid = (uint32_t)pid;
	drain(&w);
	assert_true(w.ended);
	assert_non_null(realpath("/bin/true", real));
	assert_true(has(&w, real));
	watch__free(&w);
}

/* Starts a child that has run `run` when this returns, and lives until *go is closed. */
static pid_t child(void (*run)(const char *), const char *arg, int *go)
{
	int done[2], end[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		run(arg);
		close(done[0]);
		close(done[1]);
		_exit(read(end[0], &c, 1) == 0 ? 0 : 1);
	}
	close(done[1]);
	close(end[0]);
	assert_int_equal(read(done[0], &c, 1), 0);
	close(done[0]);
	*go = end[1];
	return pid;
}

static void *map_whole(const char *path)
{
	int fd = open(path, O_RDONLY);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return at;
}

static void map_and_delete(const char *path)
{
	map_whole(path);
	unlink(path);
}

static void map_and_replace(const char *path)
{
	char other[256];

	map_whole(path);
	snprintf(other, sizeof(other), "%s.new", path);
	rename(other, path);
}

static void put_elf(const char *path, unsigned char id)
{
	struct made_elf made = elfmaker__make(id, "f");
	int fd = elfmaker__write(path, &made, sizeof(made));

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, 1000, 1000), 0); /* so that its build ID is not trusted */
	close(fd);
}

static void deleted_and_replaced_files_are_the_mapped_ones(void **state)
{
	struct watch w = watch__new();
	char path[128], other[160];
	const struct process *p;
	int seen = 0, go;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/lib.so", (char *)*state);
	snprintf(other, sizeof(other), "%s.new", path);
	for (int replace = 0; replace < 2; replace++) {
		put_elf(path, 1);
		put_elf(other, 2);
		w.ended = false;
		pid = child(replace ? map_and_replace : map_and_delete, path, &go);
		drain(&w);
		p = process_table__get(w.table, (uint32_t)pid);
		process__open(p);
		for (size_t i = 0; i < p->map_cnt; i++) {
			if (strcmp(p->maps[i].path, path) != 0)
				continue;
			assert_non_null(p->maps[i].file);
			assert_int_equal(p->maps[i].file->build_id.bytes[0], 1);
			seen++;
		}
		close(go);
		follow(&w, pid);
	}
	assert_int_equal(seen, 2);
	/* Gone before it was opened, and replaced: no file, instead of the wrong one. */
	put_elf(path, 3);
	put_elf(other, 4);
	w.ended = false;
	pid = child(map_and_replace, path, &go);
	close(go);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	w.tgid = (uint32_t)pid;
	drain(&w);
	assert_true(w.ended);
	snprintf(other, sizeof(other), "%s?", path);
	assert_true(has(&w, other));
	watch__free(&w);
}

/* A library is loaded and unloaded, and code is generated in its place. */
static void load_and_unload(const char *arg)
{
	void *lib = dlopen("libBrokenLocale.so.1", RTLD_NOW);
	void *at;

	(void)arg;
	if (!lib)
		_exit(3);
	at = dlsym(lib, "__ctype_get_mb_cur_max");
	at = (void *)((uintptr_t)at & ~(uintptr_t)4095);
	dlclose(lib);
	if (mmap(at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(4);
}

static void load_only(const char *arg)
{
	(void)arg;
	if (!dlopen("libBrokenLocale.so.1", RTLD_NOW))
		_exit(3);
}

static void libraries_come_and_go(void **state)
{
	struct watch w = watch__new();
	pid_t pid;
	int go;

	(void)state;
	pid = child(load_only, NULL, &go);
	close(go);
	follow(&w, pid);
	assert_non_null(strstr(w.maps, "libBrokenLocale"));
	assert_non_null(strstr(w.maps, "libc.so.6 ")); /* inherited: forked, not exec'd */
	w.ended = false;
	pid = child(load_and_unload, NULL, &go);
	close(go);
	follow(&w, pid);
	assert_null(strstr(w.maps, "libBrokenLocale"));
	assert_true(has(&w, "//anon?"));
	watch__free(&w);
}

/* A program in a memfd has no path, but it is an ELF file. */
static void run_memfd(const char *arg)
{
	int fd = memfd_create("in memory", MFD_CLOEXEC), from = open("/bin/sleep", O_RDONLY);
	char *argv[] = { "sleep", (char *)(uintptr_t)arg, NULL }, block[65536];
	ssize_t sz;

	while ((sz = read(from, block, sizeof(block))) > 0)
		if (write(fd, block, (size_t)sz) != sz)
			_exit(5);
	fexecve(fd, argv, argv + 2);
	_exit(6);
}

static void programs_in_memory_have_names(void **state)
{
	struct build_id id = build_id_of("/bin/sleep");
	struct watch w = watch__new();
	int go;

	(void)state;
	w.tgid = (uint32_t)child(run_memfd, "0.5", &go);
	close(go);
	drain_until_known(&w, &id);
	follow(&w, (pid_t)w.tgid);
	assert_non_null(strstr(w.maps, "/memfd:in memory"));
	assert_true(build_id__equal(&w.exe, &id));
	watch__free(&w);
}

RUN_TESTS(cmocka_unit_test(scan_knows_what_runs), test_with_folder(short_lives_have_names),
	  cmocka_unit_test(the_gone_have_names),
	  test_with_folder(deleted_and_replaced_files_are_the_mapped_ones),
	  cmocka_unit_test(libraries_come_and_go), cmocka_unit_test(programs_in_memory_have_names))
