/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Derives call-frame rules for x86-64 code without call-frame information from its instructions.
 * From a function's first instruction on, it follows what each instruction pushes, pops, reserves
 * and releases, and so knows where the return address is. Debuggers do this for prologues (gdb:
 * amd64_analyze_prologue()). This scanner continues past the prologue: forward and backward
 * branches carry the state to their targets.
 */
#ifndef CFI_CODESCAN_H
#define CFI_CODESCAN_H

#include <stdbool.h>

#include "cfi/reader.h"

/* The start of a function, according to a symbol. */
struct code_start {
	uint64_t vaddr;
	bool is_part; /* part of a function that jumps here: a .cold part */
};

/* Code between or after the ranges of call-frame information. */
struct code_gap {
	const uint8_t *bytes; /* all bytes of the gap; borrowed */
	size_t sz;
	uint64_t vaddr; /* link-time address of bytes[0], where a function begins */
	const struct code_start *starts; /* ascending; borrowed */
	size_t start_cnt;
	uint64_t entry; /* the function that the kernel starts; UINT64_MAX: not in this gap */
};

/*
 * Reports rows in ascending order. From .at (a link-time address) to the next row's, the rule is
 * PACKED_SP, PACKED_FP, PACKED_ROOT, or PACKED_NONE if it is unknown. If the last row of a gap is
 * not PACKED_NONE, it ends with the gap.
 */
typedef void (*code_row_fn)(const struct cfi_row *, void *arg);
void code_scan(const struct code_gap *, code_row_fn, void *arg);

#endif
