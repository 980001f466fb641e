// SPDX-License-Identifier: GPL-2.0-or-later
/* Visits all threads with BPF iterators. */
#include "capture/capture_private.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "base/thread.h"

#define ROWS_AT_ONCE 8 /* a read returns after this many rows: half a MB of full stacks */
#define NAP_NS	     500000
#define PATIENCE_NS  2000000000ull

/*
 * Runs the iterator in a thread of its own while the caller drains. Reading the memory of another
 * process can block as long as that process likes (a user-space page-fault handler, a file system
 * in user space). The visit is then abandoned, and nothing that the thread uses may be freed.
 */
struct iterators_visit {
	struct capture *capture;
	int fd;
	atomic_uint reads; /* progress */
	atomic_bool done, abandoned;
	int err; /* valid when done */
};

static void iterators_nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

/* Waits while a ring is more than half full, if the caller drains the rings. */
static void iterators_wait_for_room(const struct iterators_visit *v)
{
	struct capture *c = v->capture;

	for (size_t i = 0; i < c->cpu_cnt && c->options.drain; i++) {
		for (uint64_t ns = 0;
		     ring__used(c->rings[i]) > c->options.ring_sz / 2 && ns < PATIENCE_NS / 2;
		     ns += NAP_NS)
			iterators_nap();
	}
}

/* EAGAIN means a very long run without a row. */
static void *visit__run(void *arg)
{
	struct iterators_visit *v = arg;
	char rows[ROWS_AT_ONCE];
	ssize_t n;

	do {
		n = read(v->fd, rows, sizeof(rows));
		atomic_fetch_add(&v->reads, 1);
		if (atomic_load(&v->abandoned)) /* the capture may be gone; `v` is leaked */
			break;
		if (n > 0)
			iterators_wait_for_room(v);
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	v->err = n < 0 ? -errno : 0;
	close(v->fd);
	atomic_store(&v->done, true);
	return NULL;
}

/* Returns false if the thread is stuck. */
static bool visit__wait(struct iterators_visit *v)
{
	struct capture *c = v->capture;
	unsigned seen = 0;
	uint64_t seen_ns = monotonic__ns();

	while (!atomic_load(&v->done)) {
		unsigned reads = atomic_load(&v->reads);
		uint64_t now_ns = monotonic__ns();

		if (reads == seen && now_ns - seen_ns >= PATIENCE_NS)
			return false;
		seen_ns = reads == seen ? seen_ns : now_ns;
		seen = reads;
		if (c->options.drain)
			c->options.drain(c->options.drain_arg);
		iterators_nap();
	}
	return true;
}

/* Returns 0, -errno, or -EBUSY if a process blocks it. */
static int iterators_visit_with(struct capture *c, struct bpf_link *link)
{
	struct iterators_visit *v = calloc(1, sizeof(*v));
	pthread_t thread;
	int err;

	if (!v)
		return -ENOMEM;
	v->capture = c;
	v->fd = bpf_iter_create(bpf_link__fd(link));
	err = v->fd < 0 ? -errno : -thread__start_punctual(&thread, visit__run, v);
	if (err) {
		if (v->fd >= 0)
			close(v->fd);
		free(v);
		return err;
	}
	if (!visit__wait(v)) {
		atomic_store(&v->abandoned, true);
		pthread_detach(thread);
		return -EBUSY;
	}
	pthread_join(thread, NULL);
	err = v->err;
	free(v);
	return err;
}

static int iterators_visit_for_switch(struct capture *c, bool sleepable)
{
	int err;

	if (!c->skel->links.switch__rows)
		return 0;
	if (sleepable && c->skel->links.switch__rows_sleepable) {
		err = iterators_visit_with(c, c->skel->links.switch__rows_sleepable);
		if (err != -EBUSY)
			return err;
		log__warn("cannot read the memory of a process: its threads that sleep at the "
			  "beginning or the end may get only a kernel stack");
	}
	return iterators_visit_with(c, c->skel->links.switch__rows);
}

bool capture__visits_threads(const struct capture *c)
{
	return c->skel->links.switch__rows || c->skel->links.rss__rows;
}

int capture__visit_threads(struct capture *c, bool sleepable)
{
	int err = iterators_visit_for_switch(c, sleepable);

	if (!err && c->skel->links.rss__rows)
		err = iterators_visit_with(c, c->skel->links.rss__rows);
	if (err)
		log__error("cannot visit the existing threads: %s", strerror(-err));
	return err;
}

int capture__scan_targets(struct capture *c)
{
	int err = c->skel->links.filter__scan ? iterators_visit_with(c, c->skel->links.filter__scan)
					      : 0;

	if (err)
		log__error("cannot find the descendants of the recorded processes: %s",
			   strerror(-err));
	return err;
}

int capture__scan_sockets(struct capture *c)
{
	int err = c->skel->links.tcp__any__scan
			  ? iterators_visit_with(c, c->skel->links.tcp__any__scan)
			  : 0;

	if (err)
		log__error("cannot find the open sockets: %s", strerror(-err));
	return err;
}
