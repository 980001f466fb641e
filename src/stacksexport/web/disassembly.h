/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the instructions of a function with objdump, where that is installed. */
#ifndef STACKSEXPORT_WEB_DISASSEMBLY_H
#define STACKSEXPORT_WEB_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct disassembly_range {
	const char *path; /* of an ELF file; begins with '/' */
	uint64_t start, end;
};

/* Appends the output of objdump. Runs it without a shell, and ends it after a few seconds or
 * megabytes. Returns 0, -ENOENT if there is no objdump, or -errno. */
int disassembly__read(const struct disassembly_range *, struct buf *out);

/* One instruction: "  401136:\tmov    %edi,%eax". */
struct instruction {
	uint64_t address;
	const char *text;
	size_t sz;
};

/* Takes the next instruction of the text and moves *at after it. Returns false at the end. */
bool instruction__next(struct instruction *, const char **at, const char *end);

#endif
