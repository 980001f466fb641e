/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process table: the mappings of each process at the time of the current record. Records
 * arrive merged by time (capture/merge.h), so the table always matches the sample that is looked
 * up.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "event/record.h"
#include "elf/elffile.h"
#include "process/finder.h"

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

struct process {
	uint32_t tgid;
	uint64_t from_ns;	  /* the mappings already include records before this time */
	struct build_id build_id; /* of the main executable */
	struct open_job *exe;	  /* pending opening; .build_id is not known yet */
	struct mapping *maps;	  /* ascending, no overlaps, executable ones only */
	size_t map_cnt;
	uint64_t version; /* of .maps: changes with every change, unique to this process; 0: unknown
			   */
	struct image *image; /* private to process/; owns .maps */
	uint16_t *hints;     /* PROCESS_HINTS, for process__find() alone; NULL: none */
};

/* Sources besides the records. All zero: none. */
struct process_options {
	struct jobs *jobs; /* open the files; borrowed; NULL: the caller waits for each file */
	const char *proc;  /* "/proc" except in tests; NULL: /proc is not read */
	/*
	 * The records may come from another time or machine. /proc is read only for a process
	 * without a recorded mapping at lookup. Files from /proc must have the right build ID or
	 * inode.
	 */
	bool told;
	bool past; /* told, and the process has ended: /proc is used for files, not for mappings */
	struct finder *
		finder; /* borrowed; NULL: files are looked up only in processes and on this host */
	/*
	 * Called once for each file, by the thread that opens it, which may be another thread.
	 * Its result becomes .origin. NULL: not called.
	 */
	uint64_t (*identify)(const struct elf_file *);
	size_t process_max; /* limit; beyond it the least recently looked-up processes are evicted;
			       0: no limit */
	size_t held_max;    /* bytes held for files that any user may have created; 0: 256 MB */
	size_t file_max;    /* open files that no process maps; 0: as many as the limit allows */
};

struct process_table;

struct process_table *process_table__new(
	const struct process_options *);	  /* Returns NULL with errno set on failure. */
void process_table__free(struct process_table *); /* Call after jobs__free(). */

/* Reads all of /proc: processes that already run or that changed unseen. Returns 0 or -errno. */
int process_table__scan(struct process_table *);

/* Opens the files of all processes, so that no unwind has to open one later. */
void process_table__open(const struct process_table *);

/* Applies a MMAP, COMM, FORK or EXIT record; others are ignored. */
void process_table__apply(struct process_table *, const struct record *);

/*
 * Returns the process, read from /proc on the first lookup. Returns NULL only if out of memory.
 * May have no mappings. It and its mappings are valid until the next scan, refresh, record or
 * collection. With a process_max, the first lookup of another process also invalidates it.
 */
struct process *process_table__get(struct process_table *, uint32_t tgid);

/* Returns the process if it is known already, else NULL. */
struct process *process_table__find(const struct process_table *, uint32_t tgid);

/* Calls fn for every process; it must not change the table. */
void process_table__each(const struct process_table *,
			 void (*fn)(const struct process *, void *arg), void *arg);

/* Returns a snapshot of the process, with fixed mappings. Drop it before the table is freed. */
struct process process__keep(const struct process *);
void process__drop(struct process *);

/* Returns false while the main executable is being opened and its build ID is unknown. */
bool process__named(struct process *);
/*
 * Opens all files of the process, including unused ones. Returns false while an opening is
 * pending.
 */
bool process__open(const struct process *);
/* Like process__named() and process__open() together. */
bool process__settled(struct process *);

/* Cache of mapping indexes by address. An entry may be stale; verify it. */
#define PROCESS_HINTS 128

static inline uint16_t *process__hint(const struct process *p, uint64_t addr)
{
	return &p->hints[(addr >> 14) * 0x9e3779b97f4a7c15u >> 57];
}

/* The slow path of process__find(). */
const struct mapping *process__search(const struct process *, uint64_t addr);

/* Returns the executable mapping that holds addr, or NULL. */
static inline const struct mapping *process__find(const struct process *p, uint64_t addr)
{
	size_t i = p->hints ? *process__hint(p, addr) : 0;

	if (i < p->map_cnt && addr - p->maps[i].start < p->maps[i].end - p->maps[i].start &&
	    !p->maps[i].opening)
		return &p->maps[i];
	return process__search(p, addr);
}

/*
 * Reads /proc/PID/maps again, after a pc was found in no mapping. At most once per 100 ms and
 * process, and less often if reading takes long. Returns true if the mappings changed.
 */
bool process_table__refresh(struct process_table *, struct process *);

/* Declares that the process sees the host directory `from` at `at`. Returns 0 or -errno. */
int process_table__overlay(struct process_table *, uint32_t tgid, const char *at, const char *from);

/*
 * Opens the files that the finder has downloaded since the last call. Returns true if there were
 * new downloads.
 */
bool process_table__collect(struct process_table *);

struct process_table_stats {
	size_t processes, files;
	uint64_t
		files_failed; /* requested files that could not be opened or had another build ID */
};
void process_table__stats(const struct process_table *, struct process_table_stats *);
/* Returns the cache of the table's files; borrowed. */
struct elf_cache *process_table__files(const struct process_table *);

#endif
