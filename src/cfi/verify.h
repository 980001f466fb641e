/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rejects call-frame information that would make libdw (0.188) use unbounded memory or time: libdw
 * grows its tables to the largest register number, and keeps all remembered states and as many
 * operations as an expression declares. Files that only root can write are trusted; this module
 * reads all others once before libdw does.
 */
#ifndef CFI_VERIFY_H
#define CFI_VERIFY_H

#include "cfi/reader.h"

/*
 * Returns whether a compiler could have written every CIE and FDE, and whether every entry of the
 * search table (.eh_frame_hdr; NULL: none) refers to one of them.
 */
bool cfi_section__is_sane(const struct cfi_section *, const struct cfi_section *hdr);

/*
 * Replaces the instructions that mark signed return addresses (AArch64) by DW_CFA_nop: libdw
 * (0.188) treats them as SPARC's DW_CFA_GNU_window_save. `data` are the section's bytes.
 */
void cfi_section__forget_signatures(const struct cfi_section *, uint8_t *data);

#endif
