/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process table: the mappings of each process at the time of the current record. Records
 * arrive merged by time (capture/merge.h), so the table always matches the sample that is looked
 * up.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "event/record.h"
#include "process/finder.h"
#include "process/lookup.h"

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
	size_t sz; /* bytes of the processes and their mappings */
	uint64_t
		files_failed; /* requested files that could not be opened or had another build ID */
};
void process_table__stats(const struct process_table *, struct process_table_stats *);
/* Returns the cache of the table's files; borrowed. */
struct elf_cache *process_table__files(const struct process_table *);

#endif
