/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of one ELF file: which rule holds at an address. Rows are compiled
 * when they are first met and kept; the tables hang on the file, so that all processes share them.
 * The file itself is read by jobs: an answer that needs what has not been read yet is none.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "base/jobs.h"
#include "process/elffile.h"
#include "unwind/rule.h"
#include "unwind/text.h"

struct cfi;

/*
 * The file's; made at first use and freed with the file. NULL when memory is short, or the
 * machine is unknown. With NULL for `jobs` it is read when it is needed, by who needs it; of the
 * first call for a file.
 */
struct cfi *cfi__of(struct elf_file *, struct jobs *jobs);

/* Whether one of the calls below was answered for lack of what is being read, since this was asked
 * last. */
bool cfi__awaits(struct cfi *);

/*
 * The rule for a frame at link-time address `pc`, a return address when `caller`. NULL: the file
 * says nothing about it. Valid until the next call for the same file.
 */
const struct rule *cfi__rule(struct cfi *, uint64_t pc, bool caller);
/* The same where a table says that the file itself has none: its call-frame information is not
 * read. */
const struct rule *cfi__rule_beside(struct cfi *, uint64_t pc, bool caller);

/* The rule that the instructions say, where neither the file nor a table has one: FLAT_SP, FLAT_FP
 * or FLAT_ROOT. NULL if they say none. `place` is the address of a leaf, or before a return
 * address. */
const struct flat_rule *cfi__code_rule(struct cfi *, uint64_t place);

/* Whether the file is a Go program, stripped or not. False while that is not known yet. */
bool cfi__is_go(const struct cfi *);

/* What a function of unwind/text.h says of the code around `pc`. */
typedef bool (*cfi_text_fn)(const struct text *);
bool cfi__text(struct cfi *, uint64_t pc, cfi_text_fn);

/* For tests and figures: how often libdw was asked, and bytes held without libdw's own. */
struct cfi_stats {
	uint64_t rows_compiled, flushes;
	size_t rows, pcs, rules, bytes;
};
void cfi__stats(const struct cfi *, struct cfi_stats *);

#endif
