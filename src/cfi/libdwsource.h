/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an ELF file that its rules are made from. Jobs read a part at the first request for
 * it. */
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

/* Some leaves without CFI return to many places: those of node to several hundred. */
#define LIBDW_TEXTS 1024

struct libdw_source {
	struct libdw_image own, separate;
	struct overrides marks;
	struct code_rows code; /* rules of code without call-frame information */
	/* private: */
	/* Borrowed: the file owns this struct. */
	struct elf_file *file;
	struct jobs *jobs; /* borrowed; NULL: parts are read at the first request */
	bool read[LIBDW_PART_CNT], asked[LIBDW_PART_CNT];
	uint64_t retry_ns[LIBDW_PART_CNT]; /* 0: never */
	bool text_asked;		   /* one request at a time */
	bool awaits;
	/* Open addressing; vaddr 0: a free slot; NULL: none yet. The size is fixed, so that it is
	 * accounted once and adding cannot fail. */
	struct elf_code *texts;
	size_t text_cnt; /* at three quarters, all are dropped */
};

void libdw_source__init(struct libdw_source *, struct elf_file *, struct jobs *);
void libdw_source__clear(struct libdw_source *);

/* Returns false and sets `.awaits` while the part is being read. Once it returns true, the part has
 * what the file has of it. */
bool libdw_source__has(struct libdw_source *, enum libdw_part);
/* Returns false after workers failed to read frames or overrides, until these are read again: what
 * is missing counts as absent meanwhile. */
bool libdw_source__is_whole(struct libdw_source *);
/* Returns the code around a link-time address, valid until the next call. Returns NULL and sets
 * `.awaits` while the code is being read; NULL alone means that it cannot be read. Two addresses
 * requested alternately both stay cached. */
const struct elf_code *libdw_source__code(struct libdw_source *, uint64_t vaddr);

#endif
