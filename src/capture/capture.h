/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF side of the collector: load, filter, attach, start, count, stop. The only user of libbpf.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include <stdbool.h>

#include "capture/probe.h"
#include "capture/merge.h"

/*
 * Which threads are recorded: those that every kind of filter in use accepts. comms and pids are
 * one kind, which follows processes: an accepted process stays accepted, and so do its descendants,
 * including earlier ones. uids and cgroups are checked at each event. Without a filter, records the
 * whole system except this process.
 */
struct capture_filter {
	const char **comms; /* exact comm of the process, at most 15 bytes */
	size_t comm_cnt;
	uint32_t *pids; /* a process: all its threads and descendants; another thread's id: that
			   thread */
	size_t pid_cnt;
	uint32_t *uids; /* effective */
	size_t uid_cnt;
	/* Absolute path, or below the cgroup v2 root; with everything below it. */
	const char **cgroups;
	size_t cgroup_cnt;
	bool none_yet; /* record no process before capture__add_command(), because the command is
			  still to be launched */
	uint32_t keeper_pid;  /* another process that is never recorded, like this one; 0: none */
	uint32_t starter_pid; /* one that is not recorded, with its children; 0: none */
};

struct workers; /* worker/workers.h */

struct capture_options {
	const struct probe_choice *probes;
	size_t probe_cnt;
	struct capture_filter filter;
	uint32_t stack_sz; /* bytes of user stack at most */
	uint32_t ring_sz;  /* bytes per CPU, a power of two */
	uint64_t max_rate; /* events of a kind per second and CPU; 0: no limit */
	bool thins;	   /* capture__thin() will be called */
	bool debug;	   /* libbpf's own messages and the verifier's log */
	bool runtimes;	/* capture the calls of interpreted programs, see capture__set_runtime() */
	size_t cpu_cnt; /* possible CPUs, for tests of machines with many; 0: as many as there are
			 */
	/* They read the symbols and notes of files. Borrowed, except that the thread of the probe
	 * alloc takes a reference. NULL: this process reads the files. */
	struct workers *workers;
	bool bounce; /* read user memory through a bounce buffer (usercopy.h); kernels that need
			this are also detected */
	/* capture__begin() and capture__end() call it repeatedly while they write a row for each
	 * thread, so that the rings do not run full; NULL: events may be lost then. */
	void (*drain)(void *arg);
	void *drain_arg;
};

struct capture;

/* Chooses the BPF programs that the probes need and the kernel supports. On failure returns NULL,
 * sets errno, and has logged what is missing and what to do. */
struct capture *capture__new(const struct capture_options *);
/* Returns the descriptions of chosen probes, which their rows contain; borrowed (anyprobe.h). */
struct any_probes;
const struct any_probes *capture__any_probes(const struct capture *);
/* Loads and attaches all programs; they record no event before capture__begin(). Returns 0 or
 * -errno (already logged). */
int capture__load(struct capture *);
/* Records this process and its descendants from now on. */
int capture__add_target(struct capture *, uint32_t tgid);
/* Returns true while a process that was chosen by id, or one of its descendants, exists. A process
 * that has ended and was waited for no longer exists. */
bool capture__has_targets(const struct capture *);
/* Records this process from its next exec on: before, the launched command runs code of ours.
 * `program` is the path of what it will exec, or NULL. */
int capture__add_command(struct capture *, uint32_t tgid, const char *program);
/* Turns events on from *begin_ns (CLOCK_MONOTONIC), which it sets before the first drain. Writes
 * the rows of threads that are off the CPU at that time. */
int capture__begin(struct capture *, uint64_t *begin_ns);
/* Turns events off from *end_ns. Writes the `running` and `waiting` rows. */
int capture__end(struct capture *, uint64_t *end_ns);
/* Detaches from the probes of programs. Returns false if the kernel has not done it after half a
 * second; capture__free() waits for it without a limit. Accepts NULL. */
bool capture__detach(struct capture *);
void capture__free(struct capture *);

/* Records 1 of `every` events of a source that can be thinned from now on, with that weight; 1:
 * all. For a source that is itself 1 of N, it multiplies N. Needs the option `thins`. */
void capture__thin(struct capture *, const struct probe *, uint32_t every);

/* Sets where processes that run the executable file with this inode number keep their calls.
 * Returns 0 or -errno. */
struct capture_runtime;
int capture__set_runtime(struct capture *, uint64_t ino, const struct capture_runtime *);

/* Sets one stream per CPU, for merge__drain(). The fd becomes readable when a ring is a quarter
 * full; capture__woken() makes it unreadable until another one is. */
size_t capture__streams(struct capture *, struct stream *const **streams);
int capture__epoll_fd(const struct capture *);
void capture__woken(struct capture *);

struct capture_loss {
	/* "filter": a process that could not be followed; "ring": a record with inconsistent
	 * sizes */
	const char *probe;
	const char *reason;
	uint32_t cpu;
	uint64_t cnt; /* events */
};
typedef void (*capture_loss_fn)(const struct capture_loss *, void *arg);
/* Reports what was lost since the last call, by CPU, reason and probe. Does not report zeros. Call
 * it after each drain: once a second it also looks for CPUs that have come online. */
void capture__losses(struct capture *, capture_loss_fn, void *arg);

/* Calls back for every probe, with what this machine lacks for it (NULL: nothing). Returns 0, or
 * -errno after logging why it cannot find out. */
typedef void (*capture_list_fn)(const struct probe *, const char *missing, void *arg);
int capture__list(capture_list_fn, void *arg);

/* Returns what each BPF program has cost so far (kernel.bpf_stats is on while the capture lives).
 * Free it with free(). Returns NULL if out of memory. */
struct capture_cost {
	const char *program;
	uint64_t runs, run_ns;
};
struct capture_cost *capture__costs(struct capture *, size_t *cnt);

#endif
