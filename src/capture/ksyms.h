/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a few functions of the kernel itself lie, by name. */
#ifndef CAPTURE_KSYMS_H
#define CAPTURE_KSYMS_H

#include <stddef.h>
#include <stdint.h>

struct ksym {
	const char *name;
	uint64_t addr, end; /* 0: there is none of that name; the end is the next symbol's start */
};

/* Reads `path` (/proc/kallsyms) no further than it must: 10 ms for what lies in its first third. 0
 * or -errno; -EPERM when the addresses are hidden. */
int ksyms__find(const char *path, struct ksym *syms, size_t cnt);

#endif
