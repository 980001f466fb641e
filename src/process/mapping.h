/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An executable mapping of a process, and its file. */
#ifndef PROCESS_MAPPING_H
#define PROCESS_MAPPING_H

#include "elf/elffile.h"

enum mapping_kind {
	MAPPING_FILE, /* .file if the ELF file could be opened, else path and build_id only */
	MAPPING_ANON, /* executable memory without a file: JIT code, a memfd that is no ELF file …
		       */
	MAPPING_VDSO, /* .file is the kernel's vdso image */
	MAPPING_VSYSCALL,
	MAPPING_UPROBES, /* the kernel's page of out-of-line code for uprobes */
};

struct mapping {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t pgoff;	     /* file offset of start */
	enum mapping_kind kind;
	struct elf_file *file;	  /* NULL if it could not be opened or is no ELF file */
	struct open_job *opening; /* pending opening; NULL: none */
	struct build_id build_id; /* of the file, or from the records */
	bool vague;		  /* the records have its path, but neither build ID nor inode */
	bool misnamed;	  /* the recorded build ID belongs to another file that has this path here;
			     .file is NULL and .build_id is empty */
	const char *path; /* as the process saw it, without " (deleted)"; valid as long as the
			     mapping */
};

/* Accepts NULL. */
static inline bool mapping__holds(const struct mapping *m, uint64_t addr)
{
	return m && addr >= m->start && addr < m->end;
}

/* Returns true if both are of one file. */
static inline bool mapping__same_file(const struct mapping *a, const struct mapping *b)
{
	return a == b || (a->file && a->file == b->file);
}

/* Sets the file if its opening has finished. Returns false if the opening is pending. */
bool mapping__settle(struct mapping *);
void mapping__set_file(struct mapping *, struct elf_file *); /* Takes ownership of the reference. */
bool mapping__open(struct mapping *); /* Like mapping__settle(), but starts the opening first. */

#endif
