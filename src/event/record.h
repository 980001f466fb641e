/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every source (BPF rings, perf side-band, later perf.data and sysprof) turns into. */
#ifndef EVENT_RECORD_H
#define EVENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>
#include "event.h" /* bpf/event.h: kinds, states, registers */

#define BUILD_ID_MAX 20 /* bytes; longer ones are cut, as the kernel does in PERF_RECORD_MMAP2 */

struct build_id {
	uint8_t sz; /* 0: none */
	uint8_t bytes[BUILD_ID_MAX];
};

enum record_type {
	RECORD_SAMPLE, /* .event */
	RECORD_MMAP,   /* .mmap */
	RECORD_COMM,   /* .comm; exec when .comm.exec */
	RECORD_FORK,   /* .fork */
	RECORD_EXIT,   /* .tgid, .tid */
	RECORD_LOST,   /* .lost */
};

struct record_mmap {
	uint64_t start, len, pgoff; /* bytes */
	uint32_t prot;	   /* PROT_*; only executable mappings are reported by the kernel */
	uint32_t maj, min; /* device; 0 when build_id is given by the kernel instead */
	uint64_t ino;
	struct build_id build_id; /* sz 0 when unknown */
	const char *path;	  /* NUL-terminated, as the process sees it; "//anon", "[vdso]", "/x
				     (deleted)" … */
};

/*
 * One record. Valid only inside the callback that gets it: every pointer is borrowed from the ring.
 * Sizes in it have been checked against the bytes that hold it, its contents have not.
 */
struct record {
	enum record_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tgid, tid, cpu;
	union {
		const struct event *event;
		struct record_mmap mmap;
		struct {
			const char *name; /* NUL-terminated */
			bool exec;
		} comm;
		struct {
			uint32_t parent_tgid, parent_tid;
		} fork;
		struct {
			uint64_t cnt;
		} lost;
	};
};

typedef void (*record_fn)(const struct record *, void *arg);

/* What an event says besides (enum event_detail), its kernel return addresses, leaf first, and the
 * bytes of its user stack. */
static inline const void *event__detail(const struct event *e)
{
	return e->data;
}

static inline const uint64_t *event__kstack(const struct event *e)
{
	return (const uint64_t *)(const void *)(e->data + e->detail_sz);
}

static inline size_t event__kstack_cnt(const struct event *e)
{
	return e->kstack_sz / sizeof(uint64_t);
}

static inline const uint8_t *event__ustack(const struct event *e)
{
	return e->data + e->detail_sz + e->kstack_sz;
}

#endif
