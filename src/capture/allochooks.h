/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs are attached to the allocation functions of a file. */
#ifndef CAPTURE_ALLOCHOOKS_H
#define CAPTURE_ALLOCHOOKS_H

#include "capture/allocfunctions.h"

struct collector_bpf;
struct uprobes;

struct alloc_file {
	const struct collector_bpf *skel;
	const struct elf_file *elf;
	const struct alloc_functions *functions;
	bool session; /* one program is for the entry and the return of a call */
	uint32_t own; /* only in this process; 0: in all */
};

/* Adds the programs and their places. Returns 0 or -errno. */
int alloc_hooks__add(struct uprobes *, const struct alloc_file *);

#endif
