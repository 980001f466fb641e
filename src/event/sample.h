/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of a walk: the registers of a thread, and the bytes of its stack. */
#ifndef EVENT_SAMPLE_H
#define EVENT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "event/machine.h"

struct snapshot {
	uint64_t addr, sz; /* address of bytes[0]; number of bytes */
	const uint8_t *bytes;
	/* A bit for each missing page, from the page of addr on. NULL: none is missing. */
	const uint8_t *holes;
};

/* The place of a thread on another stack, when it switched to the sample's. */
struct other_stack {
	bool known;
	uint64_t pc, sp, fp;
	uint64_t link;	       /* the link register; 0: unknown, or there is none */
	struct snapshot stack; /* size 0: the thread never returns to it */
};

/* All pointers are borrowed. The program counter and the stack pointer must be valid. */
struct sample {
	const struct machine *machine;
	const uint64_t *regs;  /* machine->reg_cnt */
	uint64_t valid;	       /* bit per known register */
	struct snapshot stack; /* from the stack pointer, or a little below it, upwards */
	struct other_stack before;
	uint64_t code_bits; /* address bits of a signed return address; 0: the machine's */
	uint64_t time_ns;   /* CLOCK_MONOTONIC; 0: now, or unknown */
	uint64_t event_ns;  /* CLOCK_MONOTONIC; when it was taken; 0: unknown */
	bool truncated;	    /* the stack continues after the snapshot */
	bool compat;	    /* a 32-bit process: has only a program counter */
};

#define SNAPSHOT_PAGE	  4096
#define SNAPSHOT_PAGE_MAX 320 /* pages of a snapshot with holes */
#define SNAPSHOT_ROOM_SZ  (SNAPSHOT_PAGE_MAX * SNAPSHOT_PAGE)

/* Moves the pages of a snapshot that lacks the pages of `holes` to their places in `room`, which is
 * borrowed like `holes`. */
void snapshot__spread(struct snapshot *, const uint8_t *holes, uint8_t room[SNAPSHOT_ROOM_SZ]);

/* Returns whether the page of addr, which is in the snapshot, is missing. */
static inline bool snapshot__lacks(const struct snapshot *s, uint64_t addr)
{
	uint64_t page = addr / SNAPSHOT_PAGE - s->addr / SNAPSHOT_PAGE;

	return s->holes && page < SNAPSHOT_PAGE_MAX && (s->holes[page / 8] >> page % 8 & 1);
}

/* Returns a pointer to the sz bytes at addr (at most a page), or NULL if the snapshot does not have
 * all of them. */
static inline const uint8_t *snapshot__at(const struct snapshot *s, uint64_t addr, uint64_t sz)
{
	uint64_t off = addr - s->addr; /* huge if addr is below */

	if (off >= s->sz || s->sz - off < sz)
		return NULL;
	if (__builtin_expect(s->holes != NULL, 0) &&
	    (snapshot__lacks(s, addr) || snapshot__lacks(s, addr + sz - 1)))
		return NULL;
	return s->bytes + off;
}

static inline bool snapshot__word(const struct snapshot *s, uint64_t addr, uint64_t *word)
{
	const uint8_t *p = snapshot__at(s, addr, sizeof(*word));

	if (p)
		memcpy(word, p, sizeof(*word));
	return p;
}

#endif
