/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call-frame information of one ELF file: the rule that applies at an address. Rows are
 * compiled at first use and cached. The cache belongs to the file, so all processes share it. Jobs
 * read the file: a look-up that needs unread data finds no rule.
 */
#ifndef CFI_LIBDWRULES_H
#define CFI_LIBDWRULES_H

#include "base/jobs.h"
#include "elf/elffile.h"
#include "cfi/fullrule.h"
#include "elf/code.h"

struct libdw_rules;

/*
 * Returns the rules of the file, which are created at first use and freed with the file. Returns
 * NULL if memory is short or the machine is unknown. The first call for a file sets `jobs`; if it
 * is NULL, the calling thread reads the file when it needs it.
 */
struct libdw_rules *libdw_rules__of(struct elf_file *, struct jobs *jobs);

/* Returns whether a look-up since the last call failed because data was still being read. */
bool libdw_rules__awaits(struct libdw_rules *);

/*
 * Returns the rule for a frame at link-time address `pc`, which is a return address if `caller` is
 * set. Returns NULL if the file has no rule. Valid until the next call for the same file.
 */
const struct full_rule *libdw_rules__rule(struct libdw_rules *, uint64_t pc, bool caller);
/* Like libdw_rules__rule(), for a place where a table has no rule: skips the file's own call-frame
 * information. */
const struct full_rule *libdw_rules__rule_beside(struct libdw_rules *, uint64_t pc, bool caller);

/* Returns the rule derived from the instructions, for a place where neither the file nor a table
 * has one: PACKED_SP, PACKED_FP or PACKED_ROOT. Returns NULL if there is none. `place` is the pc of
 * a leaf, or an address before the return address. */
const struct packed_rule *libdw_rules__code_rule(struct libdw_rules *, uint64_t place);

/* Returns whether the file is a Go program, stripped or not; false until that is known. */
bool libdw_rules__is_go(const struct libdw_rules *);

/* Applies a function of elf/code.h to the code around `pc`. */
typedef bool (*cfi_text_fn)(const struct elf_code *);
bool libdw_rules__code(struct libdw_rules *, uint64_t pc, cfi_text_fn);

/* For tests and statistics: calls of libdw, and memory without libdw's own. */
struct libdw_rules_stats {
	uint64_t rows_compiled, flushes;
	size_t rows, pcs, rules, bytes;
};
void libdw_rules__stats(const struct libdw_rules *, struct libdw_rules_stats *);

#endif
