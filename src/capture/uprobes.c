// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/uprobes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/capabilities.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/thread.h"

#define PATH_SZ	       64
#define ATTACH_WAIT_NS 2000000000
#define DETACH_WAIT_NS 500000000
#define LOOK_MIN_NS    2000000	 /* between two looks at the locks */
#define LOOK_MAX_NS    100000000 /* after a second */
#define SHORT_NS       50000000	 /* a wait in which few processes can have taken their lock */
#define LOCKED_MAX     4096

enum uprobes_state {
	UPROBES_WAITING, /* for locks */
	UPROBES_ATTACHING,
	UPROBES_ATTACHED, /* or failed: `err` */
	UPROBES_DETACHED,
};

struct uprobe_set {
	const struct bpf_program *prog;
	char *path;
	int file_fd;
	struct uprobe_places places;
	int fd;			 /* the link of all places, with `multi`; -1: none */
	struct bpf_link **links; /* without `multi`: one link per place */
	size_t link_cnt;
};

struct locked {
	uint32_t tgids[LOCKED_MAX];
	size_t cnt;
};

struct uprobes {
	bool multi;
	const char *source;
	struct uprobe_set *sets;
	size_t cnt;
	int locked_fd;	      /* -1: there is no iterator */
	struct locked locked; /* processes that held their lock at every look */
	struct locked now;    /* at the last one */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* protects what follows */
	struct bell changed;
	enum uprobes_state state;
	bool stop;
	bool late; /* the caller has stopped waiting */
	int err;
	uint32_t holder; /* one of the processes that it waits for; 0: none */
};

struct uprobes *uprobes__new(bool multi, const char *source)
{
	struct uprobes *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->multi = multi;
	u->source = source;
	u->locked_fd = -1;
	priority__init_lock(&u->lock);
	return u;
}

int uprobes__add(struct uprobes *u, const struct bpf_program *prog, const char *path, int fd,
		 struct uprobe_places *places)
{
	struct uprobe_set *sets = realloc(u->sets, (u->cnt + 1) * sizeof(*sets));
	struct uprobe_set s = { .prog = prog, .fd = -1 };

	if (!sets)
		return -ENOMEM;
	u->sets = sets;
	s.path = strdup(path);
	s.file_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!s.path || s.file_fd < 0) {
		int err = s.path ? -errno : -ENOMEM;

		free(s.path);
		return err;
	}
	s.places = *places;
	*places = (struct uprobe_places){ 0 };
	sets[u->cnt++] = s;
	return 0;
}

/* ---- locks --------------------------------------------------------------------------------------
 */

/* Fills `now` with the processes that hold their lock. Leaves it empty on failure. */
static void locked_look(const struct uprobes *u, struct locked *now)
{
	int fd = bpf_iter_create(u->locked_fd);
	ssize_t n;
	size_t sz = 0;

	now->cnt = 0;
	if (fd < 0)
		return;
	do {
		n = read(fd, (char *)now->tgids + sz, sizeof(now->tgids) - sz);
		sz += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	now->cnt = sz / sizeof(*now->tgids);
}

static bool locked_has(const struct locked *l, uint32_t tgid)
{
	for (size_t i = 0; i < l->cnt; i++)
		if (l->tgids[i] == tgid)
			return true;
	return false;
}

static void locked_intersect(struct locked *l, const struct locked *now)
{
	size_t cnt = 0;

	for (size_t i = 0; i < l->cnt; i++)
		if (locked_has(now, l->tgids[i]))
			l->tgids[cnt++] = l->tgids[i];
	l->cnt = cnt;
}

/* Sleeps until the next look is due. Returns false if the thread has been told to stop meanwhile
 * and `stoppable`. */
static bool uprobes_pause_looking(struct uprobes *u, uint64_t begin_ns, bool stoppable)
{
	uint64_t now_ns = monotonic__ns(), step_ns = (now_ns - begin_ns) / 10;
	bool stopped;

	step_ns = step_ns < LOOK_MIN_NS ? LOOK_MIN_NS : step_ns;
	step_ns = step_ns > LOOK_MAX_NS ? LOOK_MAX_NS : step_ns;
	pthread_mutex_lock(&u->lock);
	u->holder = u->locked.tgids[0];
	while (monotonic__ns() < now_ns + step_ns && !(stoppable && u->stop))
		bell__wait(&u->changed, &u->lock, now_ns + step_ns);
	stopped = stoppable && u->stop;
	pthread_mutex_unlock(&u->lock);
	return !stopped;
}

/*
 * Waits until each process that holds its lock has been seen without it. A busy process holds its
 * lock for microseconds at a time. Returns false if the thread is to stop and `stoppable`.
 */
static bool uprobes_wait_unlocked(struct uprobes *u, bool stoppable)
{
	uint64_t begin_ns;

	if (u->locked_fd < 0)
		return true;
	do {
		begin_ns = monotonic__ns();
		locked_look(u, &u->locked);
		while (u->locked.cnt) {
			if (!uprobes_pause_looking(u, begin_ns, stoppable))
				return false;
			locked_look(u, &u->now);
			locked_intersect(&u->locked, &u->now);
		}
	} while (monotonic__ns() - begin_ns > SHORT_NS);
	return true;
}

/* ---- the kernel's side --------------------------------------------------------------------------
 */

/* bpf_attr.link_create.uprobe_multi */
struct uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, pc_offs, semaphore_offs, cookies;
	uint32_t cnt, multi_flags, pid, unused;
};

static size_t uprobes_places_cnt(const struct uprobe_places *p)
{
	return p->pc_offs.sz / sizeof(uint64_t);
}

#define MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

static int uprobes_attach_all(struct uprobe_set *s, const char *path)
{
	const struct uprobe_places *p = &s->places;
	struct uprobe_multi attr = {
		.prog_fd = (uint32_t)bpf_program__fd(s->prog),
		.attach_type =
			p->when == UPROBES_SESSION ? UPROBES_ATTACH_SESSION : UPROBES_ATTACH_MULTI,
		.path = (uintptr_t)path,
		.pc_offs = (uintptr_t)p->pc_offs.data,
		.semaphore_offs = (uintptr_t)p->semaphore_offs.data,
		.cookies = (uintptr_t)p->cookies.data,
		.cnt = (uint32_t)uprobes_places_cnt(p),
		.multi_flags = p->when == UPROBES_RETURN ? MULTI_RETURN : 0,
		.pid = p->tgid,
	};

	s->fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return s->fd < 0 ? -errno : 0;
}

static int uprobes_attach_each(struct uprobe_set *s, const char *path)
{
	const uint64_t *pc_offs = (const void *)s->places.pc_offs.data,
		       *semaphore_offs = (const void *)s->places.semaphore_offs.data,
		       *cookies = (const void *)s->places.cookies.data;
	size_t cnt = uprobes_places_cnt(&s->places);

	s->links = calloc(cnt, sizeof(*s->links));
	if (!s->links)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++, s->link_cnt++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = semaphore_offs[i],
			    .bpf_cookie = cookies[i], .retprobe = s->places.when == UPROBES_RETURN);

		s->links[i] = bpf_program__attach_uprobe_opts(s->prog, -1, path, pc_offs[i], &opts);
		if (!s->links[i])
			return -errno;
	}
	return 0;
}

static int uprobes_attach_sets(struct uprobes *u)
{
	int err = 0;

	for (size_t i = 0; i < u->cnt && !err; i++) {
		struct uprobe_set *s = &u->sets[i];
		char path[PATH_SZ];

		/* The file that was read, even if its name leads to another by now. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", s->file_fd);
		err = (u->multi ? uprobes_attach_all : uprobes_attach_each)(s, path);
		if (err)
			log__error("%s: cannot attach to the probes: %s", s->path, strerror(-err));
	}
	return err;
}

static void uprobes_detach_sets(struct uprobes *u)
{
	for (size_t i = 0; i < u->cnt; i++) {
		struct uprobe_set *s = &u->sets[i];

		for (size_t k = 0; k < s->link_cnt; k++)
			bpf_link__destroy(s->links[k]);
		s->link_cnt = 0;
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
	}
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

static void uprobes_change_state(struct uprobes *u, enum uprobes_state state, int err)
{
	pthread_mutex_lock(&u->lock);
	u->state = state;
	u->err = err;
	u->holder = 0;
	if (u->late && state == UPROBES_ATTACHED && !u->stop && !err)
		log__info("%s: the probes are attached now", u->source);
	bell__ring(&u->changed);
	pthread_mutex_unlock(&u->lock);
}

/* Keeps what attaching takes, or detaching. CAP_SYS_ADMIN stands in for the others on systems that
 * do not have them. Debian's perf_event_open() demands it (perf_event_paranoid 3), through which
 * the places are attached one by one. */
static void uprobes_limit_rights(bool with_perf_event_open)
{
	uint64_t named = CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON);
	bool has = (capabilities__permitted() & named) == named;

	capabilities__keep(named | CAPABILITY(CAP_DAC_READ_SEARCH) |
			   (has && !with_perf_event_open ? 0 : CAPABILITY(CAP_SYS_ADMIN)));
}

static void *uprobes_run(void *arg)
{
	struct uprobes *u = arg;
	int err = 0;
	bool begun;

	uprobes_limit_rights(!u->multi);
	begun = uprobes_wait_unlocked(u, true);
	if (begun) {
		uprobes_change_state(u, UPROBES_ATTACHING, 0);
		err = uprobes_attach_sets(u);
	}
	uprobes_limit_rights(false);
	uprobes_change_state(u, UPROBES_ATTACHED, err);
	pthread_mutex_lock(&u->lock);
	while (!u->stop)
		bell__wait(&u->changed, &u->lock, UINT64_MAX);
	pthread_mutex_unlock(&u->lock);
	if (begun) {
		uprobes_wait_unlocked(u, false);
		uprobes_detach_sets(u);
	}
	uprobes_change_state(u, UPROBES_DETACHED, err);
	return NULL;
}

/* Waits until the thread has come to this state. Must hold the lock. */
static bool uprobes_wait_state(struct uprobes *u, enum uprobes_state state, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic__ns() + patience_ns;

	while (u->state < state && monotonic__ns() < until_ns)
		bell__wait(&u->changed, &u->lock, until_ns);
	return u->state >= state;
}

static void uprobes_warn_late(const struct uprobes *u)
{
	const char *then = "the recording begins without its events, and has them from when the "
			   "probes are attached";

	if (u->holder)
		log__warn("%s: process %u keeps the lock of its address space (mmap_lock), under "
			  "which the kernel attaches probes: %s",
			  u->source, u->holder, then);
	else
		log__warn("%s: the kernel has not attached the probes yet: %s", u->source, then);
}

int uprobes__attach(struct uprobes *u, const struct bpf_link *locked)
{
	int err;

	if (!u->cnt)
		return 0;
	u->locked_fd = locked ? fcntl(bpf_link__fd(locked), F_DUPFD_CLOEXEC, 0) : -1;
	err = -thread__start(&u->thread, uprobes_run, u);
	u->running = !err;
	if (err) {
		log__error("cannot attach to the probes of %s: %s", u->source, strerror(-err));
		return err;
	}
	priority__make_punctual(u->thread);
	pthread_mutex_lock(&u->lock);
	u->late = !uprobes_wait_state(u, UPROBES_ATTACHED, ATTACH_WAIT_NS);
	if (u->late)
		uprobes_warn_late(u);
	err = u->err;
	pthread_mutex_unlock(&u->lock);
	return err;
}

static void uprobes_join(struct uprobes *u)
{
	pthread_join(u->thread, NULL);
	u->running = false;
}

void uprobes__stop(struct uprobes *u)
{
	pthread_mutex_lock(&u->lock);
	u->stop = true;
	bell__ring(&u->changed);
	pthread_mutex_unlock(&u->lock);
}

bool uprobes__detach(struct uprobes *u)
{
	bool detached;

	if (!u || !u->running)
		return true;
	uprobes__stop(u);
	pthread_mutex_lock(&u->lock);
	detached = uprobes_wait_state(u, UPROBES_DETACHED, DETACH_WAIT_NS);
	pthread_mutex_unlock(&u->lock);
	if (detached)
		uprobes_join(u);
	return detached;
}

void uprobes__free(struct uprobes *u)
{
	if (!u)
		return;
	uprobes__detach(u);
	if (u->running)
		uprobes_join(u);
	for (size_t i = 0; i < u->cnt; i++) {
		struct uprobe_set *s = &u->sets[i];

		buf__free(&s->places.pc_offs);
		buf__free(&s->places.semaphore_offs);
		buf__free(&s->places.cookies);
		free(s->links);
		free(s->path);
		close(s->file_fd);
	}
	free(u->sets);
	if (u->locked_fd >= 0)
		close(u->locked_fd);
	pthread_mutex_destroy(&u->lock);
	free(u);
}
