/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a walk reads: the registers of a frame and the stack bytes of a sample. */
#ifndef UNWIND_SNAPSHOT_H
#define UNWIND_SNAPSHOT_H

#include <stdbool.h>
#include <string.h>
#include "event/record.h"

enum reg { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RIP = 16 }; /* psABI figure 3.36 */

struct regs {
	uint64_t v[EVENT_REG_CNT];
	uint32_t valid; /* bit per register */
};

struct snapshot {
	uint64_t addr, sz; /* address of bytes[0]; bytes */
	const uint8_t *bytes;
};

static inline bool regs__has(const struct regs *r, unsigned reg)
{
	return reg < EVENT_REG_CNT && (r->valid >> reg & 1);
}

/* Where addr is in the snapshot, when sz bytes from there on are in it; else NULL. */
static inline const uint8_t *snapshot__at(const struct snapshot *s, uint64_t addr, uint64_t sz)
{
	uint64_t off = addr - s->addr; /* huge when addr is below */

	return off < s->sz && s->sz - off >= sz ? s->bytes + off : NULL;
}

static inline bool snapshot__word(const struct snapshot *s, uint64_t addr, uint64_t *word)
{
	const uint8_t *p = snapshot__at(s, addr, sizeof(*word));

	if (p)
		memcpy(word, p, sizeof(*word));
	return p;
}

#endif
