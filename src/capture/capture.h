/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF side of the collector: load, filter, attach, start, count, stop. The only user of libbpf.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>

#include "capture/probe.h"
#include "capture/merge.h"

/*
 * Which threads are recorded. A thread is recorded when every kind of filter that is given accepts
 * it. comms and pids are one kind, who: a process that it accepted stays so, and so do its
 * descendants, those that it had before too. uids and cgroups are looked at when an event happens.
 * Nothing given: the whole system but this process.
 */
struct capture_filter {
	const char **comms; /* exact comm of the process, at most 15 bytes */
	size_t comm_cnt;
	uint32_t *pids; /* a process: all its threads and descendants; another thread's id: that
			   thread */
	size_t pid_cnt;
	uint32_t *uids; /* effective */
	size_t uid_cnt;
	const char *
		*cgroups; /* absolute path, or below the cgroup v2 root; with everything below it */
	size_t cgroup_cnt;
	bool none_yet;	     /* nobody until capture__add_command(): one is to be launched */
	uint32_t keeper_pid; /* a process that is recorded as little as this one; 0: none */
};

struct capture_options {
	const struct probe_choice *probes;
	size_t probe_cnt;
	struct capture_filter filter;
	uint32_t stack_sz; /* bytes of user stack at most */
	uint32_t ring_sz;  /* bytes per CPU, a power of two */
	uint64_t max_rate; /* events of a kind per second and CPU; 0: no limit */
	bool debug;	   /* libbpf's own messages and the verifier's log */
	bool runtimes;	   /* calls of interpreted programs are captured, see below */
	size_t cpu_cnt;	   /* possible CPUs, for tests of machines with many; 0: as there are */
	bool bounce; /* user memory is read the way that kernels need whose own takes a lock; those
			that do are found out */
	/* Called again and again by capture__begin() and capture__end() while they write a row for
	 * each thread, so that the rings do not run full; NULL: they may. */
	void (*drain)(void *arg);
	void *drain_arg;
};

struct capture;

/* Chooses what the probes need and the kernel has. NULL + errno after saying what is missing and
 * what to do. */
struct capture *capture__new(const struct capture_options *);
/* Loads and attaches all programs; no event is recorded before capture__begin(). 0 or -errno, said.
 */
int capture__load(struct capture *);
/* A process (and its descendants) to record from now on. */
int capture__add_target(struct capture *, uint32_t tgid);
/* Whether somebody is there who was chosen by id, or a descendant: who has ended and was waited for
 * is not. */
bool capture__has_targets(const struct capture *);
/* … from its next exec on: the launched command, which is none before. */
int capture__add_command(struct capture *, uint32_t tgid);
/* Events are on from *begin_ns (CLOCK_MONOTONIC), which is set before the first drain; writes the
 * rows of who is off the CPU then. */
int capture__begin(struct capture *, uint64_t *begin_ns);
/* Events are off from *end_ns; writes the `running` and `waiting` rows. */
int capture__end(struct capture *, uint64_t *end_ns);
void capture__free(struct capture *);

/* Says where processes of the executable file with this inode number keep their calls. 0 or -errno.
 */
struct capture_runtime;
int capture__set_runtime(struct capture *, uint64_t ino, const struct capture_runtime *);

/* One stream per CPU, for merge__drain(), and an fd to poll that becomes readable when a ring is a
 * quarter full; capture__woken() makes it unreadable until another is. */
size_t capture__streams(struct capture *, struct stream *const **streams);
int capture__epoll_fd(const struct capture *);
void capture__woken(struct capture *);

/*
 * What was lost since the last call, by probe ("filter": a process that could not be followed;
 * "ring": a record of a ring whose sizes do not add up), CPU and reason; not called for zeros. To
 * be called after each drain: it also looks for CPUs that have come online, once a second.
 */
struct capture_loss {
	const char *probe, *reason;
	uint32_t cpu;
	uint64_t cnt;
};
typedef void (*capture_loss_fn)(const struct capture_loss *, void *arg);
void capture__losses(struct capture *, capture_loss_fn, void *arg);

/* Every probe, with what this machine lacks for it (NULL: nothing). 0, or -errno after saying why
 * nothing can be said. */
typedef void (*capture_list_fn)(const struct probe *, const char *missing, void *arg);
int capture__list(capture_list_fn, void *arg);

/* What each BPF program cost so far (kernel.bpf_stats while the capture lives): to be given to
 * free(). NULL: out of memory. */
struct capture_cost {
	const char *program;
	uint64_t runs, run_ns;
};
struct capture_cost *capture__costs(struct capture *, size_t *cnt);

#endif
