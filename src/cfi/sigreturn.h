/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds signal trampolines in code that no FDE covers. It searches the gaps between FDEs; real
 * files have few gaps, and small ones. */
#ifndef CFI_SIGRETURN_H
#define CFI_SIGRETURN_H

#include "cfi/table.h"
#include "elf/code.h"

#define SIGRETURN_GAP_MAX 65536 /* searched bytes of a gap */

struct sigreturns {
	const struct elf_file *file;
	elf_file_read_fn read;
	int err; /* error of read() in the last search */
	/* private */
	size_t gaps_left, bytes_left;
	uint8_t *bytes;
};

/* Searches at most `gaps_max` gaps. */
struct sigreturns sigreturn__in(const struct elf_file *, elf_file_read_fn, size_t gaps_max);
void sigreturn__free(struct sigreturns *);

/* Returns the override of a trampoline that begins at `off` in a file. */
struct table_override sigreturn__mark(const struct machine *, uint64_t off);

/* A table_find_fn; `arg` is a struct sigreturns. */
bool sigreturn__find(void *arg, uint64_t off, uint64_t end, struct table_override *found);

#endif
