/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a walk begins with: where a thread was, and the bytes of its stack. */
#ifndef EVENT_SAMPLE_H
#define EVENT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "event/machine.h"

struct snapshot {
	uint64_t addr, sz; /* address of bytes[0]; bytes */
	const uint8_t *bytes;
	const uint8_t *holes; /* NULL: none. A bit for each page, from that of addr on, that is not
				there */
};

/* Where a thread was on another stack when it switched to the sample's. */
struct other_stack {
	bool known;
	uint64_t pc, sp, fp;
	struct snapshot stack; /* of size 0: it was left for good */
};

/* Everything is borrowed. The program counter and the stack pointer must be valid. */
struct sample {
	const struct machine *machine;
	const uint64_t *regs;  /* machine->reg_cnt */
	uint64_t valid;	       /* bit per register whose value is known */
	struct snapshot stack; /* at the stack pointer, or a little below, and above */
	struct other_stack before;
	uint64_t code_bits; /* of a return address, when it is signed; 0: as usual */
	uint64_t time_ns;   /* CLOCK_MONOTONIC; 0: now, or not known */
	bool truncated;	    /* the stack goes on past the snapshot */
	bool compat;	    /* a 32-bit process: has a program counter, and no more */
};

#define SNAPSHOT_PAGE	  4096
#define SNAPSHOT_PAGE_MAX 320 /* pages of a snapshot with holes */
#define SNAPSHOT_ROOM_SZ  (SNAPSHOT_PAGE_MAX * SNAPSHOT_PAGE)

/* Puts the pages of a snapshot without those of `holes` where they belong: into `room`, which is
 * borrowed like `holes`. */
void snapshot__spread(struct snapshot *, const uint8_t *holes, uint8_t room[SNAPSHOT_ROOM_SZ]);

/* Whether the page is missing that addr, which is in the snapshot, is on. */
static inline bool snapshot__lacks(const struct snapshot *s, uint64_t addr)
{
	uint64_t page = addr / SNAPSHOT_PAGE - s->addr / SNAPSHOT_PAGE;

	return s->holes && page < SNAPSHOT_PAGE_MAX && (s->holes[page / 8] >> page % 8 & 1);
}

/* Where addr is in the snapshot, when sz bytes from there on are in it; else NULL. At most a page.
 */
static inline const uint8_t *snapshot__at(const struct snapshot *s, uint64_t addr, uint64_t sz)
{
	uint64_t off = addr - s->addr; /* huge when addr is below */

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
