/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record of a stream, independent of the format. It has the fields that the unwinder needs and
 * that the other format can hold. It borrows all pointers and is valid as long as the record's
 * bytes.
 */
#ifndef FORMATS_ITEM_H
#define FORMATS_ITEM_H

#include "event/record.h"

enum item_kind {
	ITEM_OTHER,   /* has no meaning outside its format */
	ITEM_SAMPLE,  /* .sample */
	ITEM_PROCESS, /* .record: MMAP, COMM, FORK, EXIT or LOST for the process table */
	ITEM_OVERLAY, /* .overlay */
	ITEM_CHAIN,   /* .chain: the deferred user-space chain of earlier samples of the thread */
	ITEM_KIND_CNT
};

/* Markers in a call chain: the context of the addresses that follow (linux/perf_event.h). */
#define CONTEXT_KERNEL	      ((uint64_t)-128)
#define CONTEXT_USER	      ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CONTEXT_MAX	      ((uint64_t)-4095) /* all markers are greater */

#define ITEM_REGS_MAX  64
#define ITEM_CHAIN_MAX 8192 /* a record has no room for more */

/* The registers and stack bytes of a user-space thread, not unwound yet. */
struct item_stack {
	uint32_t abi;  /* 0: no registers; 1: a 32-bit task; 2: a 64-bit task */
	bool foreign;  /* from a machine with the other byte order */
	uint64_t mask; /* the registers, by perf's numbers; 0 if the stream does not have it */
	uint32_t cnt;  /* values, in ascending order of register number */
	uint64_t regs[ITEM_REGS_MAX];
	uint64_t wanted; /* bytes requested; if sz is less, the copy reaches the end of the stack */
	uint64_t sz;	 /* bytes copied, from the stack pointer up */
	const uint8_t *bytes;
};

/*
 * The parts of a sample record that conversion replaces, as offsets from its start. The reader of a
 * format sets them for the writer of the same format.
 */
struct item_cuts {
	uint16_t chain, chain_end; /* the call chain; equal at its place if absent */
	uint16_t stack, stack_end; /* registers and stack; equal if absent */
};

struct item_sample {
	uint64_t ip, period;
	bool kernel;	  /* ip is in the kernel */
	bool has_stack;	  /* needs unwinding */
	bool monotonic;	  /* its time is CLOCK_MONOTONIC */
	size_t chain_cnt; /* entries of the recorded call chain: leaf first, with markers */
	const uint64_t *chain;
	struct item_stack stack;
	struct item_cuts cuts;
};

/* The process sees the folder `src` of the host as `dst`. */
struct item_overlay {
	uint32_t layer;
	const char *src, *dst;
};

/*
 * The user-space call chain of earlier samples of the same thread. The chains of those samples end
 * in CONTEXT_USER_DEFERRED and the cookie. The kernel walks the user stack when the thread returns
 * to user space.
 */
struct item_chain {
	uint64_t cookie;
	size_t cnt; /* leaf first, with markers */
	const uint64_t *entries;
};

struct item {
	enum item_kind kind;
	struct record record; /* time_ns (0 if absent), tgid, tid and cpu are set for every kind */
	union {
		struct item_sample sample;
		struct item_overlay overlay;
		struct item_chain chain;
	};
};

/* Returns the number of entries before the user-space part. They are in the kernel or in a guest.
 */
static inline size_t item_sample__kernel_cnt(const struct item_sample *s)
{
	bool kernel = s->kernel;
	size_t cnt = 0;

	for (; cnt < s->chain_cnt; cnt++) {
		uint64_t entry = s->chain[cnt];

		kernel |=
			entry > CONTEXT_MAX; /* any marker but the two below starts a kernel part */
		if (!kernel || entry == CONTEXT_USER || entry == CONTEXT_USER_DEFERRED)
			break;
	}
	return cnt;
}

/* Returns the CLOCK_MONOTONIC time of a sample, or UINT64_MAX if it is unknown. */
static inline uint64_t item__monotonic_ns(const struct item *i)
{
	return i->sample.monotonic && i->record.time_ns ? i->record.time_ns : UINT64_MAX;
}

#endif
