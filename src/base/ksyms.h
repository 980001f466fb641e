/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/kallsyms: the addresses of the kernel's symbols. */
#ifndef BASE_KSYMS_H
#define BASE_KSYMS_H

#include <stddef.h>
#include <stdint.h>

/* A line like "ffffffff81000000 T _text", followed by a tab and "[module]" for modules. */
struct ksym_line {
	uint64_t addr;
	char type; /* T, t …; a and A: absolute, for example offsets of per-CPU variables */
	const char *name;   /* like .module valid until the next line */
	const char *module; /* with brackets; NULL: the kernel */
};

/* Returns 0 to continue; another value ends the reading, which returns it. */
typedef int (*ksym_line_fn)(const struct ksym_line *, void *arg);

/*
 * Calls `fn` for each line of `path` (/proc/kallsyms; others are for tests). Skips malformed lines,
 * and lines with an address of 0, which is a hidden one. Returns 0, the value of `fn`, or -errno:
 * -EPERM if all addresses are hidden, -ENOENT if the file is empty.
 */
int ksyms__each(const char *path, ksym_line_fn fn, void *arg);

struct ksym {
	const char *name;
	uint64_t addr,
		end; /* 0: no symbol has that name; the end is the start of the next symbol */
};

/* Finds a few functions of the kernel by name. Reads `path` no further than necessary: 10 ms for
 * symbols in its first third. Returns 0 or -errno, like ksyms__each(). */
int ksyms__find(const char *path, struct ksym *syms, size_t cnt);

#endif
