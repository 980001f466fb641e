/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame rules of x86-64 code that has no call-frame information, from its instructions: from a
 * function's first instruction on, what each one pushes, pops, reserves and releases says where the
 * return address is. As debuggers do it (gdb: amd64_analyze_prologue()), but past the prologue:
 * forward and backward branches carry the state to where they lead.
 */
#ifndef CFI_CODESCAN_H
#define CFI_CODESCAN_H

#include <stdbool.h>

#include "cfi/reader.h"

/* Where a function begins, as a symbol says. */
struct code_start {
	uint64_t vaddr;
	bool is_part; /* of a function that jumps there: a .cold part */
};

/* Code that lies between call-frame information, or after it. */
struct code_gap {
	const uint8_t *bytes; /* of all of it; borrowed */
	size_t sz;
	uint64_t vaddr; /* link-time address of bytes[0]: a function begins there */
	const struct code_start *starts; /* ascending; borrowed */
	size_t start_cnt;
	uint64_t entry; /* the function that the kernel starts; UINT64_MAX: none of these */
};

/*
 * Reports rows in ascending order: from .at (a link-time address) to the next row's, the rule is
 * PACKED_SP, PACKED_FP, PACKED_ROOT, or PACKED_NONE where it is unknown. The last row of a gap that
 * is not unknown ends with the gap.
 */
typedef void (*code_row_fn)(const struct cfi_row *, void *arg);
void code_scan(const struct code_gap *, code_row_fn, void *arg);

#endif
