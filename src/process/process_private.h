/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the process table share: process.c applies records, procfs.c reads /proc,
 * mapping.c opens what is mapped. Private to src/process. */
#ifndef PROCESS_PROCESS_PRIVATE_H
#define PROCESS_PROCESS_PRIVATE_H

#include "base/hash.h"
#include "base/jobs.h"
#include "elf/elfcache.h"
#include "process/image.h"
#include "process/openpath.h"

struct entry {
	struct process pub;
	struct overlays *overlays;
	bool named;	     /* pub.build_id is known, from the first file mapped since exec */
	bool asked;	     /* /proc was read, or need not be read */
	bool told;	     /* a record reported a mapping since exec */
	bool used;	     /* looked up since the last eviction pass */
	uint64_t refresh_ns; /* earliest next refresh, CLOCK_MONOTONIC */
	uint64_t exited_ns;  /* != 0: in the queue of processes that may have ended */
	unsigned scan;	     /* number of the last scan that saw it */
	struct entry *prev, *next;
	UT_hash_handle hh;
};

/* Computed for each event. Process ids lie close together. */
static inline unsigned entry__hash(uint32_t tgid)
{
	return tgid * 2654435761u;
}

struct process_table {
	struct jobs *jobs;	   /* borrowed; NULL: the caller waits for each file */
	struct open_job *openings; /* pending, by inode */
	struct open_job *names;	   /* pending, by the kernel's name (struct open_name) */
	size_t waiting_cnt;	   /* openings that have not started and hold a handle */
	size_t running_cnt;
	size_t openings_max; /* limit for each count; above it, waiting openings are started */
	struct file_places places;
	size_t process_max;
	uint64_t last_ns; /* time of the last record */
	size_t found;	  /* downloads already applied to the mappings */
	struct elf_cache *files;
	struct pathtab *paths;
	struct elf_file *vdso; /* NULL when there is none */
	struct entry *processes;
	struct entry *exited; /* in order of exit */
	unsigned scans;
	uint64_t files_failed;
};

/*
 * Fills *out with the mapping of a record and opens its file. The caller owns the references in
 * *out. Returns 0 or -errno.
 */
int process_table__map(struct process_table *, const struct entry *, const struct record_mmap *,
		       struct mapping *out);

/* Retries files that could not be opened before, if the file is known well enough. */
void process_table__look_again(struct process_table *, const struct entry *);

/*
 * Returns the current mappings from /proc, empty if the process is gone. Returns NULL with errno
 * set on failure.
 */
struct image *process_table__read(struct process_table *, const struct entry *);

/*
 * Sets .build_id, or .exe while the build ID is unknown, from /proc/PID/exe, else from the first
 * mapping.
 */
void process_table__name(struct process_table *, struct process *);

#endif
