/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a mapped file on its first use, mostly when an unwind passes through it: most mappings
 * are never used. A job opens the file if the table has jobs, because the caller must not wait
 * for a disk or a server. Private to src/process.
 */
#ifndef PROCESS_OPENJOB_H
#define PROCESS_OPENJOB_H

#include <sys/stat.h>

#include "base/hash.h"
#include "base/jobs.h"
#include "elf/elfcache.h"
#include "process/openpath.h"

struct open_key {
	uint64_t dev, ino;
};

/* How the kernel identifies a file. Files may share it if the device has no number of its own. */
struct open_name {
	uint64_t dev, ino, gen;
};

struct open_job {
	unsigned refs; /* held by mappings, processes and the job */
	enum { OPENING_WAITS, OPENING_RUNS, OPENING_DONE } state;
	struct elf_file *file; /* holds a reference; NULL: pending, or there is no file */
	struct open_jobs *set;
	/* identity of the mapped file, while the opening is pending and shared: */
	struct open_key key;   /* 0: not shared */
	struct timespec ctime; /* of the file, when this opening was created */
	struct open_name name; /* the last name it was mapped by; only if shared */
	UT_hash_handle hh, hh_name;
	/* how to open the file: */
	struct open_request request;
	struct file_places places;
	struct record_mmap map;
	struct overlays *overlays; /* a reference */
	int handle;		   /* -1: none */
	dev_t device;		   /* device of the file, as far as known */
	/* the job and its results: */
	struct job job;
	struct elf_file *found;
	bool no_elf;   /* the mapping is no ELF file; not a failure */
	bool misnamed; /* not found, and the build ID belongs to another file */
	bool is_named; /* the file is the one in the record */
	char path[];
};

/* All openings of a process table, and where files are opened. */
struct open_jobs {
	struct jobs *jobs;	   /* borrowed; NULL: the caller waits for each file */
	struct open_job *openings; /* pending, by inode */
	struct open_job *names;	   /* pending, by the kernel's name (struct open_name) */
	size_t waiting_cnt;	   /* openings that have not started and hold a handle */
	size_t running_cnt;
	size_t openings_max; /* limit for each count; above it, waiting openings are started */
	struct file_places places;
	struct elf_cache *files;
	uint64_t failed_cnt; /* files of mappings that could not be opened */
};

/*
 * Returns the opening of the file in the request, or NULL if out of memory. `st` is the file's
 * status in the process, or NULL if it is unavailable. All mappings of that file share one
 * opening, and its handle keeps the file alive. Starts at once if the process can be queried but
 * no handle is available.
 */
struct open_job *open_job__new(struct open_jobs *, const struct open_request *,
			       const struct stat *st);
/* Starts the opening if necessary. Returns true if it is done. Without jobs it is done at once. */
bool open_job__start(struct open_job *);
/* Sets the overlays of the process. Has no effect once the opening has started. */
void open_job__overlay(struct open_job *, struct overlays *);
/*
 * Returns the pending opening of the file with this status (`_find`) or of this mapping
 * (`_find_mapped`), or NULL.
 */
struct open_job *open_job__find(struct open_jobs *, const struct stat *st);
struct open_job *open_job__find_mapped(struct open_jobs *, const struct record_mmap *);
/*
 * Returns the pending opening of a file that another process mapped by this name and path, or
 * NULL. For processes that are gone. Covers only files that only root can have created.
 */
struct open_job *open_job__find_claimed(struct open_jobs *, const struct open_request *);
struct open_job *open_job__get(struct open_job *); /* accepts NULL, as the next */
void open_job__put(struct open_job *);

#endif
