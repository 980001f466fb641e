/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of one ELF file: which rule holds at an address. Rows are compiled
 * when they are first met and kept; the tables hang on the file, so that all processes share them.
 * The file itself is read by jobs: an answer that needs what has not been read yet is none.
 */
#ifndef CFI_LIBDWRULES_H
#define CFI_LIBDWRULES_H

#include "base/jobs.h"
#include "elf/elffile.h"
#include "cfi/fullrule.h"
#include "elf/code.h"

struct libdw_rules;

/*
 * The file's; made at first use and freed with the file. NULL when memory is short, or the
 * machine is unknown. With NULL for `jobs` it is read when it is needed, by who needs it; of the
 * first call for a file.
 */
struct libdw_rules *libdw_rules__of(struct elf_file *, struct jobs *jobs);

/* Whether one of the calls below was answered for lack of what is being read, since this was asked
 * last. */
bool libdw_rules__awaits(struct libdw_rules *);

/*
 * The rule for a frame at link-time address `pc`, a return address when `caller`. NULL: the file
 * says nothing about it. Valid until the next call for the same file.
 */
const struct full_rule *libdw_rules__rule(struct libdw_rules *, uint64_t pc, bool caller);
/* The same where a table says that the file itself has none: its call-frame information is not
 * read. */
const struct full_rule *libdw_rules__rule_beside(struct libdw_rules *, uint64_t pc, bool caller);

/* The rule that the instructions say, where neither the file nor a table has one: PACKED_SP,
 * PACKED_FP or PACKED_ROOT. NULL if they say none. `place` is the address of a leaf, or before a
 * return address. */
const struct packed_rule *libdw_rules__code_rule(struct libdw_rules *, uint64_t place);

/* Whether the file is a Go program, stripped or not. False while that is not known yet. */
bool libdw_rules__is_go(const struct libdw_rules *);

/* What a function of elf/code.h says of the code around `pc`. */
typedef bool (*cfi_text_fn)(const struct elf_code *);
bool libdw_rules__code(struct libdw_rules *, uint64_t pc, cfi_text_fn);

/* For tests and figures: how often libdw was asked, and bytes held without libdw's own. */
struct libdw_rules_stats {
	uint64_t rows_compiled, flushes;
	size_t rows, pcs, rules, bytes;
};
void libdw_rules__stats(const struct libdw_rules *, struct libdw_rules_stats *);

#endif
