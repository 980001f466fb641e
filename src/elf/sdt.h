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

/* File offsets of a probe: the kernel places a breakpoint and a counter there. */
struct sdt_place {
	uint64_t pc_off;
	uint64_t call_off;	/* a nop of 5 bytes after the probe's; 0: none */
	uint64_t semaphore_off; /* 0: none */
};

/*
 * Calls fn for each note until it returns a value other than 0, which is then returned. Strings are
 * valid during the call. Returns -ENOENT if there are no notes, -EBADMSG if they are malformed,
 * -EFBIG if they are larger than those of any program.
 */
typedef int (*sdt_fn)(const struct sdt_note *, void *arg);
int sdt__each(const struct elf_file *, sdt_fn, void *arg);

/*
 * Finds the place of a probe in a 64-bit file. Notes are not trusted: only a nop in the code and a
 * counter in the section .probes are accepted. Returns 0, or -EBADMSG and sets `why`.
 */
int sdt__place(const struct elf_file *, const struct sdt_note *, struct sdt_place *,
	       const char **why);

#endif
