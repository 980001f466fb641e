/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of an ELF file for its rules, by jobs: a part is there when somebody has asked for
 * it before. */
#ifndef CFI_LIBDWSOURCE_H
#define CFI_LIBDWSOURCE_H

#include "base/jobs.h"
#include "cfi/coderows.h"
#include "cfi/libdwimage.h"
#include "cfi/overrides.h"
#include "elf/code.h"

enum libdw_part {
	LIBDW_OWN,	/* .own and .marks */
	LIBDW_SEPARATE, /* .separate: .debug_frame of .gnu_debugdata or of the debug file */
	LIBDW_CODE,	/* .code */
	LIBDW_PART_CNT
};

#define LIBDW_TEXTS 1024 /* leaves without CFI return to many places: node's to some hundred */

struct libdw_source {
	struct libdw_image own, separate;
	struct overrides marks;
	struct code_rows code; /* rules of what has no call-frame information */
	/* private: */
	struct elf_file *file; /* borrowed: it owns us */
	struct jobs *jobs;     /* borrowed; NULL: what is asked for is read at once */
	bool read[LIBDW_PART_CNT], asked[LIBDW_PART_CNT];
	bool text_asked; /* one at a time */
	bool awaits;
	struct elf_code *texts; /* LIBDW_TEXTS, open addressing, vaddr 0: free; NULL: none yet */
	size_t text_cnt;	/* at three quarters all are forgotten */
};

void libdw_source__init(struct libdw_source *, struct elf_file *, struct jobs *);
void libdw_source__clear(struct libdw_source *);

/* False, and .awaits is set, while the part is being read; else there is what the file has of it.
 */
bool libdw_source__has(struct libdw_source *, enum libdw_part);
/* The code around a link-time address; valid until the next call. NULL, and .awaits is set, while
 * it is being read; NULL alone: it cannot be. Two that are asked for in turns are both kept. */
const struct elf_code *libdw_source__code(struct libdw_source *, uint64_t vaddr);

#endif
