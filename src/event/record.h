/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common form of records from all sources: BPF rings, perf side-band, perf.data and sysprof. */
#ifndef EVENT_RECORD_H
#define EVENT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>

#include "bpf/event.h" /* kinds, states, registers */
#include "event/sample.h"

#define BUILD_ID_MAX 20 /* bytes; longer ones are cut, as in PERF_RECORD_MMAP2 */

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
	uint32_t prot;		    /* PROT_*; the kernel reports only executable mappings */
	uint32_t maj, min;	    /* device; 0 if the kernel gives build_id instead */
	uint64_t ino, gen;	    /* inode and its generation; 0: unknown */
	struct build_id build_id;   /* sz 0: unknown */
	/* build_id is that of a file with this path, which may be another inode: if the inode
	 * differs, the build ID is wrong. */
	bool by_path;
	/* NUL-terminated, as the process sees it; "//anon", "[vdso]", "/x (deleted)" … */
	const char *path;
};

/*
 * One record. Valid only inside the callback that gets it: every pointer is borrowed from the ring.
 * Sizes in it have been checked against its bytes; its contents have not.
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

/* Receives several samples at once, in the order of time, so that the callee can overlap their
 * cache misses. Other records come alone. */
#define RECORD_BATCH 32
typedef void (*records_fn)(const struct record *, size_t cnt, void *arg);

/* Return the parts of an event: its detail (enum event_detail), its kernel return addresses, leaf
 * first, and the bytes of its user stack. */
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

_Static_assert(SNAPSHOT_PAGE == EVENT_PAGE && SNAPSHOT_PAGE_MAX == EVENT_HOLES_SZ * 8, "");

/* Returns the bit set of missing pages of the user stack, EVENT_HOLES_SZ bytes, or NULL if none is
 * missing inside it. */
static inline const uint8_t *event__holes(const struct event *e)
{
	return e->flags & EVENT_F_HOLES ? event__ustack(e) + e->ustack_sz : NULL;
}

/* Returns the size of the event with its parts, without event_switched. */
static inline uint64_t event__sz_before_switched(const struct event *e)
{
	return sizeof(*e) + (uint64_t)e->detail_sz + e->kstack_sz + e->ustack_sz +
	       (e->flags & EVENT_F_HOLES ? EVENT_HOLES_SZ : 0);
}

/* Copies the event_switched, or zeros if there is none (EVENT_F_SWITCHED). Returns the stack bytes
 * after it. */
static inline const uint8_t *event__switched(const struct event *e, struct event_switched *s)
{
	const uint8_t *bytes = (const uint8_t *)e + event__sz_before_switched(e) + sizeof(*s);

	*s = (struct event_switched){ 0 };
	if (e->flags & EVENT_F_SWITCHED)
		memcpy(s, bytes - sizeof(*s), sizeof(*s));
	return bytes;
}

/* Fills *before in place, from an event with EVENT_F_SWITCHED. */
static inline void event__set_before(const struct event *e, struct other_stack *before)
{
	struct event_switched s;
	const uint8_t *bytes = event__switched(e, &s);

	*before =
		(struct other_stack){ true, s.pc,   s.sp,
				      s.fp, s.link, { .addr = s.sp, .sz = s.sz, .bytes = bytes } };
}

/* With what follows it, but for an event_runtime. */
static inline uint64_t event__sz_before_runtime(const struct event *e)
{
	struct event_switched s;

	event__switched(e, &s);
	return event__sz_before_switched(e) + (e->flags & EVENT_F_SWITCHED ? sizeof(s) + s.sz : 0);
}

/* The calls of the program that an interpreter runs: copies the header; all 0 without
 * EVENT_F_RUNTIME. Returns the bytes of struct event_call that follow it, at any alignment. */
static inline const uint8_t *event__runtime(const struct event *e, struct event_runtime *r)
{
	const uint8_t *bytes = (const uint8_t *)e + event__sz_before_runtime(e) + sizeof(*r);

	*r = (struct event_runtime){ 0 };
	if (e->flags & EVENT_F_RUNTIME)
		memcpy(r, bytes - sizeof(*r), sizeof(*r));
	return bytes;
}

/* Returns the size of the event with all its parts. */
static inline uint64_t event__sz(const struct event *e)
{
	uint64_t sz = event__sz_before_runtime(e);

	if (e->flags & EVENT_F_RUNTIME)
		sz += sizeof(struct event_runtime) + e->call_cnt * sizeof(struct event_call);
	return sz;
}

#define EVENT_AHEAD 4 /* events to prefetch ahead */

/* Prefetches the parts of an event that event__sample() and a walk read, and where its calls begin.
 */
static inline void event__prefetch(const struct event *e)
{
	__builtin_prefetch(e);
	for (size_t at = offsetof(struct event, regs); at < offsetof(struct event, comm); at += 64)
		__builtin_prefetch((const uint8_t *)e + at);
	if (e->flags & EVENT_F_RUNTIME)
		__builtin_prefetch((const uint8_t *)e + event__sz_before_runtime(e));
}

/*
 * Fills *s in place from an event with EVENT_F_USER. If it has holes, call snapshot__spread() next.
 * Assigns field by field: a compound literal would be built on the stack and copied.
 */
static inline void event__sample(const struct event *e, struct sample *s)
{
	s->machine = &machine_native;
	s->regs = (const void *)e->regs; /* both are 64 bits wide */
	s->valid = (1ull << EVENT_REG_CNT) - 1;
	s->stack.addr = e->stack_addr;
	s->stack.sz = e->ustack_sz;
	s->stack.bytes = event__ustack(e);
	s->stack.holes = NULL;
	s->code_bits = s->time_ns = 0;
	s->event_ns = e->time_ns;
	s->truncated = e->flags & EVENT_F_TRUNCATED;
	s->compat = e->flags & EVENT_F_COMPAT;
	s->before.known = false;
	s->before.stack.sz = 0;
	if (e->flags & EVENT_F_SWITCHED)
		event__set_before(e, &s->before);
}

#endif
