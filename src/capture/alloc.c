// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/alloc.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/capabilities.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/mount.h"
#include "base/thread.h"
#include "bpf/allocations.h"
#include "bpf/config.h"
#include "capture/allochooks.h"
#include "capture/alloctask.h"
#include "capture/alloclibraries.h"
#include "capture/allocseen.h"
#include "capture/uprobes.h"
#include "collector.skel.h"

#define ATTACHED_MAX   256   /* files with allocation functions, by process */
#define MAPPINGS_MAX   65536 /* of one process: vm.max_map_count */
#define LINE_SZ	       512   /* of /proc/PID/maps; the end of longer ones is not needed */
#define ATTACH_WAIT_NS 2000000000
#define DETACH_WAIT_NS 500000000
#define DETACH_ONE_NS  50000000 /* of a link of a single place, on kernels before 6.6 */
#define DETACH_MAX_NS  3000000000
#define POLL_NS	       2000000	  /* between two looks at the number of execs */
#define LOOK_NS	       250000000  /* between two looks at the processes, without an exec */
#define FRESH_NS       1000000000 /* after an exec, in which a program maps its libraries */

#define LINKS_PER_FUNCTION 2

enum alloc_state { ALLOC_STARTS, ALLOC_LOOKS, ALLOC_ENDED };

struct alloc {
	struct collector_bpf *skel;
	struct workers *workers; /* a reference; NULL: the thread reads the symbols of files */
	bool session, multi;
	bool early;		     /* processes may start later */
	uint32_t own[ALLOC_OWN_MAX]; /* processes that functions are attached for one by one */
	size_t own_cnt;
	uint32_t now; /* that of these to attach for; 0: for all processes */
	struct alloc_seen seen;
	struct uprobes *attached[ATTACHED_MAX];
	size_t attached_cnt;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* protects what follows */
	struct bell changed;
	size_t link_cnt; /* that are detached one by one */
	enum alloc_state state;
	uint32_t command; /* a process that is about to start a program; 0: none */
	char *program;	  /* this program */
	bool stop;
};

struct alloc *alloc__new(struct workers *workers)
{
	struct alloc *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	priority__init_lock(&a->lock);
	a->workers = workers__get(workers);
	return a;
}

int alloc__prepare(struct alloc *a, struct collector_bpf *skel, const char *way, bool multi)
{
	const struct {
		struct bpf_program *prog;
		int type;
	} types[] = {
		{ skel->progs.alloc__session__call, UPROBES_ATTACH_SESSION },
		{ skel->progs.alloc__pair__enter, UPROBES_ATTACH_MULTI },
		{ skel->progs.alloc__pair__return, UPROBES_ATTACH_MULTI },
		{ skel->progs.alloc__any__free, UPROBES_ATTACH_MULTI },
	};
	int err = 0;

	a->session = way && !strcmp(way, "session");
	a->multi = multi;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types) && way && multi && !err; i++)
		err = bpf_program__set_expected_attach_type(types[i].prog,
							    (enum bpf_attach_type)types[i].type);
	return err;
}

/* ---- one file -----------------------------------------------------------------------------------
 */

static int alloc_attach_functions(struct alloc *a, const struct elf_file *f,
				  const struct alloc_functions *functions)
{
	struct uprobes *u;
	int err;

	if (a->attached_cnt == ATTACHED_MAX)
		return -E2BIG;
	u = uprobes__new(a->multi, "alloc");
	if (!u)
		return -errno;
	err = alloc_hooks__add(u,
			       &(struct alloc_file){ a->skel, f, functions, a->session, a->now });
	if (!err)
		err = uprobes__attach(u, a->skel->links.uprobes__locked);
	if (err) {
		uprobes__free(u);
		return err;
	}
	a->attached[a->attached_cnt++] = u;
	pthread_mutex_lock(&a->lock);
	a->link_cnt += a->multi ? 0 : LINKS_PER_FUNCTION * functions->cnt;
	pthread_mutex_unlock(&a->lock);
	log__debug("alloc: attached to %zu functions of %s for %s", functions->cnt, f->path,
		   a->now ? "one process" : "all processes");
	return 0;
}

/* Takes ownership of fd. Most files have no allocation functions. Returns 0 or -errno (already
 * logged). */
static int alloc_attach_file(struct alloc *a, int fd, const char *path)
{
	struct elf_file *f = elf_file__new(fd, path);
	struct alloc_functions functions = { .cnt = 0 };
	int err = 0;

	elf_file__check_place(f, path);
	if (f && f->machine == &machine_native)
		err = alloc_task__find(a->workers, f, &functions);
	if (!err && functions.cnt)
		err = alloc_attach_functions(a, f, &functions);
	if (err)
		log__warn("alloc: cannot attach to the functions of %s, its allocations are not "
			  "recorded%s: %s",
			  path, workers__failed(err) ? " for half a minute" : "", strerror(-err));
	elf_file__put(f);
	return err;
}

/* ---- one process --------------------------------------------------------------------------------
 */

/* One line of /proc/PID/maps. */
struct code_mapping {
	uint64_t start, end, ino;
	unsigned major, minor;
	char path[LINE_SZ];
};

static bool alloc_parse_mapping(const char *line, struct code_mapping *m)
{
	char exec;

	m->path[0] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2c%c%*c %*x %x:%x %" SCNu64 " %511[^\n]",
		   &m->start, &m->end, &exec, &m->major, &m->minor, &m->ino, m->path) < 6)
		return false;
	return exec == 'x' && m->ino;
}

/* An inode of 0 stands for the whole device. */
static struct alloc_seen_file alloc_seen_file(const struct alloc *a, const struct code_mapping *m,
					      uint64_t ino)
{
	return (struct alloc_seen_file){ (uint64_t)m->major << 32 | m->minor, ino, a->now };
}

/*
 * The kernel reads a file to attach to it, and meanwhile no process of the machine can fork. So
 * the file must be on a file system that no user can keep from answering. Code in memory (memfd)
 * is on none.
 */
static bool alloc_may_attach(struct alloc *a, const struct code_mapping *m)
{
	const struct alloc_seen_file device = alloc_seen_file(a, m, 0);

	if (mount__is_of_admin("/proc/self/mountinfo", m->major, m->minor))
		return true;
	if (strncmp(m->path, "/memfd:", 7) != 0 && alloc_seen__add(&a->seen, &device, 0, 0))
		log__warn("alloc: does not attach to %s and other files of this file system: a "
			  "user may have mounted it (FUSE, or in a namespace)",
			  m->path);
	return false;
}

static void alloc_see_mapping(struct alloc *a, uint32_t tgid, const struct code_mapping *m)
{
	const struct alloc_seen_file file = alloc_seen_file(a, m, m->ino);
	char path[80];
	int fd;

	if (!alloc_seen__add(&a->seen, &file, tgid, monotonic__ns()) || !alloc_may_attach(a, m))
		return;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, tgid, m->start,
		 m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		alloc_seen__remove(&a->seen, &file);
	else if (workers__failed(alloc_attach_file(a, fd, m->path)))
		alloc_seen__fail(&a->seen, &file, monotonic__ns());
}

static uint32_t alloc_own_or_all(const struct alloc *a, uint32_t tgid)
{
	for (size_t i = 0; i < a->own_cnt; i++)
		if (a->own[i] == tgid)
			return tgid;
	return 0;
}

/* Attaches, for the process `now` or for all, to the files that the process maps; with `address`,
 * only to the one that has it. */
static void alloc_see_process(struct alloc *a, uint32_t tgid, uint64_t address)
{
	struct code_mapping m;
	char path[64], line[LINE_SZ];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	f = fopen(path, "re");
	for (size_t i = 0; f && i < MAPPINGS_MAX && fgets(line, sizeof(line), f); i++) {
		if (alloc_parse_mapping(line, &m) &&
		    (!address || (m.start <= address && address < m.end)))
			alloc_see_mapping(a, tgid, &m);
	}
	if (f)
		fclose(f);
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

static bool alloc_add_own(struct alloc *a, uint32_t tgid)
{
	uint32_t one = 1;

	if (a->own_cnt == ALLOC_OWN_MAX ||
	    bpf_map_update_elem(bpf_map__fd(a->skel->maps.alloc__own), &tgid, &one, BPF_ANY) != 0)
		return false;
	a->own[a->own_cnt++] = tgid;
	a->skel->bss->alloc_owns = 1;
	return true;
}

/*
 * A few processes that exist already have functions attached one by one: other processes that map
 * the same files, such as the C library, then pay nothing. Processes that start later cannot wait
 * for that; their files are attached for all. Kernels before 6.13 would record one thread only.
 */
static void alloc_choose_own(struct alloc *a, const uint32_t *tgids, size_t cnt)
{
	if (!a->session || a->early || a->state != ALLOC_STARTS || cnt > ALLOC_OWN_MAX)
		return;
	for (size_t i = 0; i < cnt; i++)
		alloc_add_own(a, tgids[i]);
}

static void alloc_see_path(struct alloc *a, const char *path)
{
	void *page = code_page__map(path);

	if (!page)
		return;
	alloc_see_process(a, (uint32_t)getpid(), (uintptr_t)page);
	code_page__unmap(page);
}

/* Attaches to the C library of this process, which most programs have, and to the allocators beside
 * it: then the first allocations of programs are not missed. Kernels before 6.6 attach to each
 * function by itself, which takes too long for files that may never be mapped. */
static void alloc_see_own_libraries(struct alloc *a)
{
	glob_t found = { 0 };

	alloc_see_process(a, (uint32_t)getpid(), (uintptr_t)malloc);
	if (a->multi && !alloc_libraries__find(&found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			alloc_see_path(a, found.gl_pathv[i]);
	globfree(&found);
}

/* The places stay when the command's process starts its program. */
static void alloc_await_command(struct alloc *a)
{
	uint32_t tgid;

	pthread_mutex_lock(&a->lock);
	tgid = a->command;
	pthread_mutex_unlock(&a->lock);
	if (!tgid)
		return;
	a->now = a->session && alloc_add_own(a, tgid) ? tgid : 0;
	alloc_see_own_libraries(a);
	if (a->program)
		alloc_see_path(a, a->program);
	pthread_mutex_lock(&a->lock);
	a->command = 0;
	bell__ring(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

/* Looks at the processes that have mapped code since the last call. */
static void alloc_look_at_processes(struct alloc *a)
{
	int fd = bpf_iter_create(bpf_link__fd(a->skel->links.alloc__any__find));
	uint32_t tgids[64];
	ssize_t n;

	if (fd < 0)
		return;
	do {
		n = read(fd, tgids, sizeof(tgids));
		if (n > 0)
			alloc_choose_own(a, tgids, (size_t)n / sizeof(*tgids));
		for (ssize_t i = 0; i < n / (ssize_t)sizeof(*tgids); i++) {
			a->now = alloc_own_or_all(a, tgids[i]);
			alloc_see_process(a, tgids[i], 0);
		}
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
}

/* Looks again into files that workers could not read. */
static void alloc_retry_files(struct alloc *a)
{
	uint32_t tgid;

	while ((tgid = alloc_seen__due(&a->seen, monotonic__ns(), &a->now)) != 0)
		alloc_see_process(a, tgid, 0);
}

static bool alloc_stopped(struct alloc *a)
{
	bool stop;

	pthread_mutex_lock(&a->lock);
	stop = a->stop;
	pthread_mutex_unlock(&a->lock);
	return stop;
}

static void alloc_change_state(struct alloc *a, enum alloc_state state)
{
	pthread_mutex_lock(&a->lock);
	a->state = state;
	bell__ring(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static void alloc_sleep(struct alloc *a)
{
	uint64_t until_ns = monotonic__ns() + POLL_NS;

	pthread_mutex_lock(&a->lock);
	while (!a->stop && !a->command && monotonic__ns() < until_ns)
		bell__wait(&a->changed, &a->lock, until_ns);
	pthread_mutex_unlock(&a->lock);
}

/* Looks again after each exec of a recorded process, and sometimes for libraries that are loaded
 * later. */
static void alloc_follow_processes(struct alloc *a)
{
	uint64_t seen = 0, fresh_ns = 0, looked_ns = 0;

	while (!alloc_stopped(a)) {
		uint64_t execs = __atomic_load_n(&a->skel->bss->alloc_execs, __ATOMIC_RELAXED),
			 now_ns = monotonic__ns();

		alloc_await_command(a);
		if (execs != seen)
			fresh_ns = now_ns;
		seen = execs;
		if (now_ns - looked_ns >= LOOK_NS || now_ns - fresh_ns < FRESH_NS) {
			alloc_look_at_processes(a);
			alloc_retry_files(a);
			looked_ns = now_ns;
		}
		alloc_sleep(a);
	}
}

/* Keeps what it takes to read mappings and files of other users, and to attach. CAP_SYS_ADMIN is
 * for the reason in uprobes.c, and for kernels without the others. */
static void alloc_limit_rights(const struct alloc *a)
{
	uint64_t named =
		CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON) | CAPABILITY(CAP_CHECKPOINT_RESTORE);
	bool has = (capabilities__permitted() & named) == named;

	capabilities__keep(named | CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_SYS_PTRACE) |
			   (has && a->multi ? 0 : CAPABILITY(CAP_SYS_ADMIN)));
}

static void *alloc_run(void *arg)
{
	struct alloc *a = arg;

	alloc_limit_rights(a);
	if (a->early)
		alloc_see_own_libraries(a);
	alloc_look_at_processes(a);
	alloc_change_state(a, ALLOC_LOOKS);
	alloc_follow_processes(a);
	for (size_t i = 0; i < a->attached_cnt; i++)
		uprobes__stop(a->attached[i]);
	for (size_t i = 0; i < a->attached_cnt; i++)
		uprobes__free(a->attached[i]);
	alloc_change_state(a, ALLOC_ENDED);
	return NULL;
}

/* Waits until the thread has come to this state. */
static bool alloc_wait_state(struct alloc *a, enum alloc_state state, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic__ns() + patience_ns;
	bool reached;

	pthread_mutex_lock(&a->lock);
	while (a->state < state && monotonic__ns() < until_ns)
		bell__wait(&a->changed, &a->lock, until_ns);
	reached = a->state >= state;
	pthread_mutex_unlock(&a->lock);
	return reached;
}

int alloc__attach(struct alloc *a, struct collector_bpf *skel, bool early)
{
	int err;

	if (!skel->links.alloc__any__find) /* the probe is not recorded */
		return 0;
	a->skel = skel;
	a->early = early;
	err = thread__start_punctual(&a->thread, alloc_run, a);
	a->running = !err;
	if (err) {
		log__error("cannot attach to the probes of alloc: %s", strerror(err));
		return -err;
	}
	if (!alloc_wait_state(a, ALLOC_LOOKS, ATTACH_WAIT_NS))
		log__warn("alloc: a process or a file does not answer: the recording begins "
			  "without some allocations");
	return 0;
}

void alloc__add_command(struct alloc *a, uint32_t tgid, const char *program)
{
	uint64_t until_ns = monotonic__ns() + ATTACH_WAIT_NS;

	if (!a->running)
		return;
	pthread_mutex_lock(&a->lock);
	a->command = tgid;
	a->program = program ? strdup(program) : NULL;
	bell__ring(&a->changed);
	while (a->command && monotonic__ns() < until_ns)
		bell__wait(&a->changed, &a->lock, until_ns);
	pthread_mutex_unlock(&a->lock);
}

bool alloc__detach(struct alloc *a)
{
	uint64_t patience_ns = DETACH_WAIT_NS;

	if (!a || !a->running)
		return true;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	patience_ns += a->link_cnt * DETACH_ONE_NS;
	if (patience_ns > DETACH_MAX_NS)
		patience_ns = DETACH_MAX_NS;
	bell__ring(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return alloc_wait_state(a, ALLOC_ENDED, patience_ns);
}

void alloc__free(struct alloc *a)
{
	if (!a)
		return;
	alloc__detach(a);
	if (a->running)
		pthread_join(a->thread, NULL);
	pthread_mutex_destroy(&a->lock);
	workers__put(a->workers);
	free(a->program);
	free(a);
}
