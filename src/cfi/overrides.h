/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that the call-frame information of a file lacks or has wrong: where Go's stacks end or
 * change, _init and _fini, and the PLT of AArch64.
 */
#ifndef CFI_OVERRIDES_H
#define CFI_OVERRIDES_H

#include "elf/elffile.h"
#include "cfi/fullrule.h"

#define OVERRIDE_MAX 64

struct override {
	uint64_t vaddr, sz; /* link-time addresses */
	struct wide_rule rule;
};

struct overrides {
	bool has_pclntab; /* Go's own table, which stripped programs have, too */
	bool is_go;	  /* its call-frame information treats signal trampolines as functions */
	size_t cnt;
	struct override marks[OVERRIDE_MAX];
};

/* Reads the file. */
void overrides__find(struct overrides *, const struct elf_file *);

/* Sections with code that determines rules. */
#define OVERRIDES_SECTIONS    2			       /* of an architecture, at most */
#define OVERRIDES_OF_SECTIONS (3 * OVERRIDES_SECTIONS) /* overrides of all of them */
struct override_section {
	uint64_t vaddr, sz; /* sz 0: absent */
	uint8_t bytes[64];  /* its first ones */
};
/* Returns the name of the nth section of an architecture, or NULL. */
const char *overrides__section(const struct machine *, size_t nth);
/* Adds the overrides of these sections, in the order of overrides__section(). */
void overrides__of_sections(struct overrides *, const struct machine *,
			    const struct override_section[OVERRIDES_SECTIONS]);
/* Returns the rule at `vaddr`, or NULL. */
const struct wide_rule *overrides__at(const struct overrides *, uint64_t vaddr);

#endif
