/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the addresses of a few kernel functions by name. */
#ifndef CAPTURE_KSYMS_H
#define CAPTURE_KSYMS_H

#include <stddef.h>
#include <stdint.h>

struct ksym {
	const char *name;
	uint64_t addr,
		end; /* 0: no symbol has that name; the end is the start of the next symbol */
};

/* Reads `path` (/proc/kallsyms) no further than necessary: 10 ms for symbols in its first third.
 * Returns 0 or -errno; -EPERM if the addresses are hidden. */
int ksyms__find(const char *path, struct ksym *syms, size_t cnt);

#endif
