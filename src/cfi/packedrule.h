/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row of call-frame information in 8 bytes, enough for nearly every row of compiled code. The
 * return address is saved at CFA + 8 * ra, the caller's frame pointer at CFA + 8 * fp, and the
 * caller's stack pointer is the CFA. User space and BPF programs read the same bytes.
 *
 * For a signal trampoline (PACKED_SIGNAL) the three numbers give where the kernel saved the
 * registers of the interrupted code: the stack pointer at sp + 8 * cfa, the frame pointer at sp + 8
 * * fp (followed by the link register, if the machine has one), the program counter at sp + 8 * ra.
 */
#ifndef CFI_PACKEDRULE_H
#define CFI_PACKEDRULE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum packed_how {
	PACKED_SP,	  /* CFA = sp + 8 * cfa */
	PACKED_FP,	  /* CFA = fp + 8 * cfa */
	PACKED_NONE,	  /* no call-frame information here */
	PACKED_ROOT,	  /* no caller: the return address is undefined */
	PACKED_AT_FP,	  /* CFA = *(fp + 8 * cfa): a realigned stack */
	PACKED_PLT,	  /* CFA = sp + 8, and 8 more from byte `cfa` of a 16-byte PLT entry on */
	PACKED_ELSEWHERE, /* no packed rule can express it: libdw gives the rule */
	PACKED_SIGNAL,	  /* a signal trampoline */
	PACKED_SWITCH,	  /* the caller is on another stack, at an unknown address */
	PACKED_POINTER, /* like PACKED_NONE, and callers are found by frame pointer; in no table */
};

#define PACKED_RA_LINKED  INT16_MIN /* the return address is in the link register: in a leaf */
#define PACKED_FP_KEPT	  INT16_MIN /* the frame pointer is the caller's */
#define PACKED_FP_AT_SELF (INT16_MIN + 1) /* the caller's frame pointer is saved at *(fp) */

enum packed_flags {
	PACKED_CALLERS_ONLY = 1 << 0, /* for return addresses only: the code follows this place */
	PACKED_SPECIAL = 1 << 1,      /* in cached rules: PACKED_RA_LINKED or PACKED_FP_AT_SELF */
	PACKED_UNWINDING = 1 << 2,    /* unwinds the stack for an exception: see machine.h */
	PACKED_FP_LOST = 1 << 3, /* the caller's frame pointer is not saved; in code rows only */
};

struct packed_rule {
	uint8_t how;	     /* enum packed_how */
	uint8_t flags;	     /* enum packed_flags */
	int16_t cfa, fp, ra; /* in words of 8 bytes */
};
_Static_assert(sizeof(struct packed_rule) == 8, "8 bytes");

/* Returns whether a packed rule can hold this number of bytes. Called three times per row: avoids a
 * division, because `off` may be negative. */
static inline bool packed__in_words(int64_t off)
{
	return (off & 7) == 0 && off > PACKED_FP_AT_SELF * 8 && off <= INT16_MAX * 8;
}

static inline int16_t packed__words(int64_t off)
{
	return (int16_t)(off >> 3);
}

/* Returns `how` with the flags above it: for a plain rule, just PACKED_SP or PACKED_FP. */
static inline uint16_t packed_rule__head(const struct packed_rule *r)
{
	uint16_t head;

	memcpy(&head, r, sizeof(head));
	return le16toh(head);
}

static inline uint64_t packed_rule__bits(struct packed_rule r)
{
	uint64_t bits;

	memcpy(&bits, &r, sizeof(bits));
	return bits;
}

#endif
