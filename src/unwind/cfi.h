/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of one ELF file: which rule holds at an address. Rows are compiled
 * when they are first met and kept; the tables hang on the file, so that all processes share them.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "process/elffile.h"
#include "unwind/rule.h"

struct cfi;

/* The file's; made at first use and freed with the file. NULL when memory is short. */
struct cfi *cfi__of(struct elf_file *);

/*
 * The rule for a frame at link-time address `pc`, a return address when `caller`. NULL: the file
 * says nothing about it. Valid until the next call for the same file.
 */
const struct rule *cfi__rule(struct cfi *, uint64_t pc, bool caller);

/* Whether the bytes before `pc` are a call instruction. Reads the file, once per address. */
bool cfi__after_call(struct cfi *, uint64_t pc);

/* For tests and figures: how often libdw was asked, and bytes held without libdw's own. */
struct cfi_stats {
	uint64_t rows_compiled, flushes;
	size_t rows, pcs, rules, bytes;
};
void cfi__stats(const struct cfi *, struct cfi_stats *);

#endif
