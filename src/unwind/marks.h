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
/* The same of AArch64's PLT alone, of its place and its first two instructions. */
struct marks_plt {
	uint64_t vaddr, sz;
	uint32_t first[2];
};
void marks__of_plt(struct marks *, const struct marks_plt *);
/* NULL: none. */
const struct flat_rule *marks__at(const struct marks *, uint64_t vaddr);

#endif
