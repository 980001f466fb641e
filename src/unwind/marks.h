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
	bool is_go; /* its call-frame information takes signal trampolines for functions */
	size_t cnt;
	struct mark marks[MARK_MAX];
};

/* None of a Go program without a symbol table. Reads the file. */
void marks__find(struct marks *, const struct elf_file *);
/* The same without Go's, of sections that the caller finds; sz 0: there is none. 0, or what `find`
 * says. */
struct marks_section {
	uint64_t vaddr, sz;
	uint8_t bytes[64]; /* its first ones */
};
typedef int (*marks_section_fn)(void *arg, const char *name, struct marks_section *);
int marks__of_sections(struct marks *, const struct machine *, marks_section_fn find, void *arg);
/* NULL: none. */
const struct flat_rule *marks__at(const struct marks *, uint64_t vaddr);

#endif
