/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The static probes (USDT) of a program or library: the notes of its section .note.stapsdt. */
#ifndef ELF_SDT_H
#define ELF_SDT_H

#include "elf/elffile.h"

struct sdt_note {
	const char *provider, *name;
	const char *args;	/* "8@%rdi -4@$5" */
	uint64_t pc, semaphore; /* link-time addresses; semaphore 0: none */
};

/* File offsets, of which the kernel makes a breakpoint and a counter. */
struct sdt_place {
	uint64_t pc_off;
	uint64_t call_off;	/* a nop of 5 bytes behind it; 0: none */
	uint64_t semaphore_off; /* 0: none */
};

/*
 * Calls fn for each note until it returns something else than 0, which is returned then. Strings
 * live as long as the file. -ENOENT: there are none, -EBADMSG: they are malformed, -EFBIG: they are
 * longer than any program's.
 */
typedef int (*sdt_fn)(const struct sdt_note *, void *arg);
int sdt__each(const struct elf_file *, sdt_fn, void *arg);

/*
 * Where a probe of a 64-bit file is. A note may lie: only a nop in the code and a counter in the
 * section .probes are accepted. 0, or -EBADMSG and `why`.
 */
int sdt__place(const struct elf_file *, const struct sdt_note *, struct sdt_place *,
	       const char **why);

#endif
