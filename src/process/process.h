/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process table: who maps what, at the time of the record in hand. Records arrive merged by
 * time (event/merge.h), so the table is always the one of the sample that is looked up.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "event/record.h"
#include "process/elffile.h"

enum mapping_kind {
	MAPPING_FILE, /* .file when the ELF file could be opened, else path and build_id only */
	MAPPING_ANON, /* executable memory without a file: JIT code, a memfd that is no ELF file …
		       */
	MAPPING_VDSO, /* .file is the kernel's vdso image */
	MAPPING_VSYSCALL,
};

struct mapping {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t pgoff;	     /* file offset of start */
	enum mapping_kind kind;
	struct elf_file *file;	  /* NULL when it could not be opened or is no ELF file */
	struct build_id build_id; /* the file's, or what the kernel said of it */
	const char *path; /* as the process saw it, without " (deleted)"; lives as long as the
			     mapping: copy what has to stay */
};

struct process {
	uint32_t tgid;
	uint64_t from_ns;	  /* records before this time are in the mappings already */
	struct build_id build_id; /* of the main executable */
	struct mapping *maps;	  /* ascending, no overlaps, executable ones only */
	size_t map_cnt;
	/* private to process.c follows in its own struct */
};

struct process_table;

/* NULL + errno. `proc` is "/proc" but in tests. */
struct process_table *process_table__new(const char *proc);
void process_table__free(struct process_table *);

/* Reads all of /proc: what runs already, or may have changed unseen. 0 or -errno. */
int process_table__scan(struct process_table *);

/* Applies a MMAP, COMM, FORK or EXIT record; others are ignored. */
void process_table__apply(struct process_table *, const struct record *);

/* The process, made from /proc on first sight. Never NULL but for lack of memory; may have no
 * mappings. It and its mappings are valid until the next scan, refresh or record. */
struct process *process_table__get(struct process_table *, uint32_t tgid);

/* The process if it is known already, else NULL. */
struct process *process_table__find(const struct process_table *, uint32_t tgid);

/* The executable mapping that holds addr, or NULL. */
const struct mapping *process__find(const struct process *, uint64_t addr);

/* Reads /proc/PID/maps again (a pc was in no mapping); at most once per 100 ms and process, and
 * seldomer where that takes long. True when it changed. */
bool process_table__refresh(struct process_table *, struct process *);

struct process_table_stats {
	size_t processes, files;
	uint64_t files_failed; /* mapped files that could not be opened or had another build ID */
};
void process_table__stats(const struct process_table *, struct process_table_stats *);

#endif
