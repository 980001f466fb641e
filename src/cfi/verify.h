/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information that would make libdw (0.188) use memory or time without bound: it grows
 * its tables to the largest register number that is named, keeps as many states as are remembered
 * and operations as an expression claims to have. Files that only root can write are believed; all
 * others are read once by this before libdw sees them.
 */
#ifndef CFI_VERIFY_H
#define CFI_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_section {
	const uint8_t *data;
	size_t sz;
	uint64_t vaddr;
	bool eh; /* .eh_frame, else .debug_frame */
};

/*
 * Whether every CIE and FDE is what a compiler might have written, and every entry of the search
 * table (.eh_frame_hdr; NULL: there is none) one of them.
 */
bool cfi_section__is_sane(const struct cfi_section *, const struct cfi_section *hdr);

/*
 * Makes DW_CFA_nop of what says where return addresses are signed (AArch64): libdw (0.188) takes it
 * for SPARC's DW_CFA_GNU_window_save. `data` are the section's bytes.
 */
void cfi_section__forget_signatures(const struct cfi_section *, uint8_t *data);

#endif
