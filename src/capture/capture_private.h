/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder. No other folder includes it. */
#ifndef CAPTURE_CAPTURE_PRIVATE_H
#define CAPTURE_CAPTURE_PRIVATE_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "bpf/config.h"
#include "capture/alloc.h"
#include "capture/anyprobe.h"
#include "capture/capture.h"
#include "capture/sampler.h"
#include "capture/usdt.h"
#include "collector.skel.h"
#include "capture/ring.h"

/* The value of the map `losses`, one per CPU. The last row belongs to the filters. */
struct capture_losses {
	uint64_t cnt[EVENT_KIND_CNT + 1][EVENT_LOSS_CNT];
};

struct capture {
	struct capture_options options; /* its pointers are borrowed and used until capture__load(),
					   except drain */
	struct collector_bpf *skel;
	struct sampler *samplers[PROBE_CHOICE_MAX];
	size_t sampler_cnt;
	struct usdt *usdt;
	struct alloc *alloc;
	struct any_probes *any;
	const char *ways[PROBE_CHOICE_MAX]; /* the chosen way of each of options.probes; NULL if it
					       has only one */
	bool left_out[PROBE_CHOICE_MAX];
	uint32_t slot_sz;    /* bytes of a slot in `scratch` */
	size_t cpu_cnt;	     /* possible CPUs: the length of the arrays below */
	struct ring **rings; /* mapped when the CPU is online for the first time */
	int *ring_fds;	     /* -1 until then */
	bool *online;	     /* scratch of capture__open_rings() */
	pthread_t opener;    /* opens the first rings */
	int opened_err;
	struct stream **streams;
	struct capture_losses
		*lost;	     /* 2 * cpu_cnt: the reported counts, then the counts just read */
	uint64_t *bad;	     /* malformed records of each ring that have been reported */
	uint64_t *skipped;   /* like .bad: runs that the kernel skipped, for each program of the
				skeleton */
	uint64_t checked_ns; /* time of the last search for new CPUs */
	int epoll_fd, stats_fd;
};

/* skeleton.c: opens the skeleton and sets all that has to be set before loading. Returns 0 or
 * -errno. */
int capture__open_skeleton(struct capture *);
/* Returns true for a program that finds out which processes the filters select. */
bool capture__is_filter(const char *program);

/* capture_filter.c. Before loading: sets sizes and constants. After loading, when the programs
 * already see which processes end: sets contents. Return 0 or -errno (already logged). */
int capture__set_filter(struct capture *, const struct capture_filter *);
int capture__fill_filter(struct capture *, const struct capture_filter *);

struct features;

/* usercopy.c: sets up bounce buffers if the kernel needs them, before loading and after it. Return
 * 0 or -errno (already logged). */
int capture__set_bounce(struct capture *, struct features *);
int capture__fill_bounce(struct capture *);

/* rings.c: opens a ring for each online CPU that has none. Returns 0 or -errno (already logged). A
 * thread opens the first rings while the programs are being loaded, because most of that time is
 * spent waiting in the kernel. A failure to start this thread is not logged, nor an error that only
 * follows from a failed load. */
int capture__new_rings(struct capture *);
int capture__begin_rings(struct capture *);
int capture__end_rings(struct capture *, int load_err);
int capture__open_rings(struct capture *);
void capture__free_rings(struct capture *);

/* losses.c: reports what was lost since the last call. */
void capture__report_losses(struct capture *, capture_loss_fn, void *arg);

/*
 * Reports runs that the kernel skipped because the program was already running on that CPU: it was
 * preempted (by kernels that preempt themselves), or interrupted. If `fn` is NULL, counting starts
 * now.
 */
void capture__report_skipped(struct capture *, capture_loss_fn, void *arg);

/*
 * iterators.c: visits every thread with the programs that make the rows of the beginning and the
 * end (PROBE__rows*). begin_ns and end_ns select which rows. Returns 0 or -errno (already logged).
 */
bool capture__visits_threads(const struct capture *); /* returns true if there are such programs */
int capture__visit_threads(struct capture *, bool sleepable);
int capture__scan_targets(struct capture *);
int capture__scan_sockets(struct capture *);

#endif
