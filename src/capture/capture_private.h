/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share; nobody else includes it. */
#ifndef CAPTURE_CAPTURE_PRIVATE_H
#define CAPTURE_CAPTURE_PRIVATE_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "bpf/config.h"
#include "capture/capture.h"
#include "capture/sampler.h"
#include "capture/usdt.h"
#include "collector.skel.h"
#include "capture/ring.h"

/* The map `losses`, one per CPU. The last row is the filters'. */
struct capture_losses {
	uint64_t cnt[EVENT_KIND_CNT + 1][EVENT_LOSS_CNT];
};

struct capture {
	struct capture_options
		options; /* borrowed pointers: used until capture__load(), but drain */
	struct collector_bpf *skel;
	struct sampler *samplers[PROBE_CHOICE_MAX];
	size_t sampler_cnt;
	struct usdt *usdt;
	const char *ways[PROBE_CHOICE_MAX]; /* of options.probes; NULL where there is only one */
	bool left_out[PROBE_CHOICE_MAX];
	uint32_t slot_sz;    /* bytes of a slot in `scratch` */
	size_t cpu_cnt;	     /* possible CPUs: of the arrays below */
	struct ring **rings; /* mapped when the CPU is online for the first time */
	int *ring_fds;	     /* -1 until then */
	bool *online;	     /* scratch of capture__open_rings() */
	pthread_t opener;    /* of the first rings */
	int opened_err;
	struct stream **streams;
	struct capture_losses *lost; /* what has been reported, then what is read: 2 * cpu_cnt */
	uint64_t *bad;		     /* malformed records of each ring that have been reported */
	uint64_t *skipped;	     /* the same of each program of the skeleton, by the kernel */
	uint64_t checked_ns;	     /* when CPUs were last looked for */
	int epoll_fd, stats_fd;
};

/* capture_filter.c: sizes and constants before loading, contents when its programs see who ends. 0
 * or -errno, said. */
int capture__set_filter(struct capture *, const struct capture_filter *);
int capture__fill_filter(struct capture *, const struct capture_filter *);

struct features;

/* usercopy.c: where the kernel needs it, before loading and after it. 0 or -errno, said. */
int capture__set_bounce(struct capture *, struct features *);
int capture__fill_bounce(struct capture *);

/* rings.c: a ring for each CPU that is online and has none. 0 or -errno, said. The first ones are
 * put where the programs look while those are loaded: the kernel waits most of the time. What keeps
 * that from beginning is not said, nor what went wrong because the programs could not be loaded. */
int capture__new_rings(struct capture *);
int capture__begin_rings(struct capture *);
int capture__end_rings(struct capture *, int load_err);
int capture__open_rings(struct capture *);
void capture__free_rings(struct capture *);

/* losses.c: what was lost since the last time. */
void capture__report_losses(struct capture *, capture_loss_fn, void *arg);

/*
 * The kernel skips a program while it runs already on that CPU: a thread was preempted in it
 * (kernels that preempt themselves), or an interrupt came. NULL: only from now on.
 */
void capture__report_skipped(struct capture *, capture_loss_fn, void *arg);

/*
 * iterators.c: visits every thread with the programs that make rows of the beginning and the end
 * (PROBE__rows*), which do what begin_ns and end_ns say. 0 or -errno, said.
 */
bool capture__visits_threads(const struct capture *); /* there are such programs */
int capture__visit_threads(struct capture *, bool sleepable);
int capture__scan_targets(struct capture *);
int capture__scan_sockets(struct capture *);

#endif
