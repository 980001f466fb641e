/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of an ELF file for its rules, by jobs: a part is there when somebody has asked for
 * it before. */
#ifndef UNWIND_CFIDATA_H
#define UNWIND_CFIDATA_H

#include "base/jobs.h"
#include "unwind/coderows.h"
#include "unwind/framedata.h"
#include "unwind/marks.h"
#include "unwind/text.h"

enum cfi_part {
	CFI_OWN,      /* .own and .marks */
	CFI_SEPARATE, /* .separate: .debug_frame of .gnu_debugdata or of the debug file */
	CFI_CODE,     /* .code */
	CFI_PART_CNT
};

#define CFI_TEXTS 1024 /* leaves without CFI return to many places: node's to some hundred */

struct cfi_data {
	struct framedata own, separate;
	struct marks marks;
	struct code_rows code; /* rules of what has no call-frame information */
	/* private: */
	struct elf_file *file; /* borrowed: it owns us */
	struct jobs *jobs;     /* borrowed; NULL: what is asked for is read at once */
	bool read[CFI_PART_CNT], asked[CFI_PART_CNT];
	bool text_asked; /* one at a time */
	bool awaits;
	struct text *texts; /* CFI_TEXTS, open addressing, vaddr 0: free; NULL: none yet */
	size_t text_cnt;    /* at three quarters all are forgotten */
};

void cfi_data__init(struct cfi_data *, struct elf_file *, struct jobs *);
void cfi_data__clear(struct cfi_data *);

/* False, and .awaits is set, while the part is being read; else there is what the file has of it.
 */
bool cfi_data__has(struct cfi_data *, enum cfi_part);
/* The code around a link-time address; valid until the next call. NULL, and .awaits is set, while
 * it is being read; NULL alone: it cannot be. Two that are asked for in turns are both kept. */
const struct text *cfi_data__text(struct cfi_data *, uint64_t vaddr);

#endif
