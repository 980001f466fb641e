/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the call-frame information of Go programs leaves out: where stacks end or change. */
#ifndef UNWIND_GO_H
#define UNWIND_GO_H

#include "process/elffile.h"

enum go_kind { GO_NONE, GO_ROOT, GO_SWITCH, GO_FRAME_POINTER };

#define GO_MARK_MAX 32

struct go_marks {
	size_t cnt;
	struct {
		uint64_t start, sz;
		enum go_kind kind;
	} marks[GO_MARK_MAX];
};

/* Empty when it is no Go program, or one without a symbol table. */
void go_marks__find(struct go_marks *, const struct elf_file *);
enum go_kind go_marks__at(const struct go_marks *, uint64_t vaddr);

#endif
