/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a record of a stream says, whatever the stream's format: what the unwinder needs, and what
 * the other format can hold. Valid until the bytes that it was read from go; all pointers are
 * borrowed.
 */
#ifndef FORMATS_ITEM_H
#define FORMATS_ITEM_H

#include "event/record.h"

enum item_kind {
	ITEM_OTHER,   /* means nothing outside its format */
	ITEM_SAMPLE,  /* .sample */
	ITEM_PROCESS, /* .record: a MMAP, COMM, FORK, EXIT or LOST for the process table */
	ITEM_OVERLAY, /* .overlay */
	ITEM_CHAIN,   /* .chain: what earlier samples of the thread have no user-space chain for */
	ITEM_KIND_CNT
};

/* Values in a call chain that say whose the addresses behind them are (linux/perf_event.h). */
#define CONTEXT_KERNEL	      ((uint64_t)-128)
#define CONTEXT_USER	      ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_MAX	      ((uint64_t)-4095) /* all markers are above */

#define ITEM_REGS_MAX  64
#define ITEM_CHAIN_MAX 8192 /* no record has room for more */

/* The registers and stack bytes of a user-space thread, not unwound yet. */
struct item_stack {
	uint32_t abi;  /* 0: none; 1: a 32-bit task; 2: a 64-bit one */
	bool foreign;  /* of a machine with another byte order */
	uint64_t mask; /* which registers, by perf's numbers; 0: the stream does not say */
	uint32_t cnt;  /* values, ascending by number */
	uint64_t regs[ITEM_REGS_MAX];
	uint64_t wanted; /* bytes that were asked for: with less the stack's end was met */
	uint64_t sz;	 /* bytes of it, from the stack pointer on */
	const uint8_t *bytes;
};

/*
 * Where in a record that stands what its converted form has otherwise: offsets from its beginning.
 * What the format knows of itself, for its writer.
 */
struct item_cuts {
	uint16_t chain, chain_end; /* the call chain; equal where it would be */
	uint16_t stack, stack_end; /* registers and stack; equal: none */
};

struct item_sample {
	uint64_t ip, period;
	bool kernel;	  /* ip is the kernel's */
	bool has_stack;	  /* it is to be unwound */
	bool monotonic;	  /* its time is CLOCK_MONOTONIC's */
	size_t chain_cnt; /* of the call chain that it came with: leaf first, with markers */
	const uint64_t *chain;
	struct item_stack stack;
	struct item_cuts cuts;
};

/* For one process the folder `src` of the host is what it sees as `dst`. */
struct item_overlay {
	uint32_t layer;
	const char *src, *dst;
};

/*
 * The user-space call chain of earlier samples of the same thread. The chains of those samples end
 * in CONTEXT_USER_DEFERRED and the cookie: the kernel walks it when the thread goes back to user
 * space.
 */
struct item_chain {
	uint64_t cookie;
	size_t cnt; /* leaf first, with markers */
	const uint64_t *entries;
};

struct item {
	enum item_kind kind;
	struct record record; /* time_ns, tgid, tid, cpu of every kind; time 0: it has none */
	union {
		struct item_sample sample;
		struct item_overlay overlay;
		struct item_chain chain;
	};
};

/* Entries of a chain that are the kernel's, or a guest's: up to the first address of user space. */
static inline size_t item_sample__kernel_cnt(const struct item_sample *s)
{
	bool kernel = s->kernel;
	size_t cnt = 0;

	for (; cnt < s->chain_cnt; cnt++) {
		uint64_t entry = s->chain[cnt];

		kernel |= entry > CONTEXT_MAX; /* a marker, of the kernel's but for these two: */
		if (!kernel || entry == CONTEXT_USER || entry == CONTEXT_USER_DEFERRED)
			break;
	}
	return cnt;
}

/* Of a sample, CLOCK_MONOTONIC; UINT64_MAX: not known. */
static inline uint64_t item__monotonic_ns(const struct item *i)
{
	return i->sample.monotonic && i->record.time_ns ? i->record.time_ns : UINT64_MAX;
}

#endif
