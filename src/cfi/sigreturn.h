/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signal trampolines in code that no FDE covers: the gaps between FDEs are looked through, which
 * are few, and small, in real files. */
#ifndef CFI_SIGRETURN_H
#define CFI_SIGRETURN_H

#include "cfi/table.h"
#include "elf/code.h"

#define SIGRETURN_GAP_MAX 65536 /* bytes of a gap that are looked through */

struct sigreturns {
	const struct elf_file *file;
	elf_file_read_fn read;
	int err; /* of the last search: what read() said */
	/* private */
	size_t gaps_left, bytes_left;
	uint8_t *bytes;
};

/* Looks through at most that many gaps. */
struct sigreturns sigreturn__in(const struct elf_file *, elf_file_read_fn, size_t gaps_max);
void sigreturn__free(struct sigreturns *);

/* One that begins at that offset of a file. */
struct table_override sigreturn__mark(const struct machine *, uint64_t off);

/* A table_find_fn, whose `arg` is a struct sigreturns. */
bool sigreturn__find(void *arg, uint64_t off, uint64_t end, struct table_override *found);

#endif
