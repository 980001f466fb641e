/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that the call-frame information of a file leaves out, or has wrong: where Go's stacks end
 * or change, _init and _fini, and the PLT of AArch64.
 */
#ifndef UNWIND_MARKS_H
#define UNWIND_MARKS_H

#include "process/elffile.h"
#include "unwind/flat.h"

#define MARK_MAX 64

struct mark {
	uint64_t vaddr, sz; /* link-time addresses */
	struct flat_rule rule;
};

struct marks {
	bool has_pclntab; /* Go's own table: stripped programs have it, too */
	bool is_go;	  /* its call-frame information takes signal trampolines for functions */
	size_t cnt;
	struct mark marks[MARK_MAX];
};

/* None of a Go program without a symbol table. Reads the file. */
void marks__find(struct marks *, const struct elf_file *);

/* Sections whose code says rules. */
#define MARKS_SECTIONS	  2		       /* of an architecture, at most */
#define MARKS_OF_SECTIONS (3 * MARKS_SECTIONS) /* in all of them */
struct marks_section {
	uint64_t vaddr, sz; /* sz 0: there is none */
	uint8_t bytes[64];  /* its first ones */
};
/* The name of the nth of an architecture; NULL: it has no more. */
const char *marks__section(const struct machine *, size_t nth);
/* What they say, in that order. */
void marks__of_sections(struct marks *, const struct machine *,
			const struct marks_section[MARKS_SECTIONS]);
/* NULL: none. */
const struct flat_rule *marks__at(const struct marks *, uint64_t vaddr);

#endif
