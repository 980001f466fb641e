/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mapped file that is opened when somebody asks for it, mostly a walk that comes through it: most
 * of what processes map nobody ever comes through. A job opens it where there are jobs: who asks
 * must not wait for a disk or a server. Private to src/process.
 */
#ifndef PROCESS_OPENJOB_H
#define PROCESS_OPENJOB_H

#include <sys/stat.h>

#include "base/hash.h"
#include "process/process_private.h"

struct open_key {
	uint64_t dev, ino;
};

/* What the kernel calls a file; many may share it where the device has no number of its own. */
struct open_name {
	uint64_t dev, ino, gen;
};

struct open_job {
	unsigned refs; /* of mappings, of processes, and of the job */
	enum { OPENING_WAITS, OPENING_RUNS, OPENING_DONE } state;
	struct elf_file *file; /* a reference; NULL: not done, or there is none */
	struct process_table *table;
	/* what is mapped, of those that share it, until it is done: */
	struct open_key key;   /* 0: it is not shared */
	struct timespec ctime; /* when it began to wait */
	struct open_name name; /* that it was mapped by last; none but of a shared one */
	UT_hash_handle hh, hh_name;
	/* what the file is opened by: */
	struct open_request request;
	struct file_places places;
	struct record_mmap map;
	struct overlays *overlays; /* a reference */
	int handle;		   /* -1: none */
	dev_t device;		   /* that it is on, as far as that is known */
	/* of the job, and what it finds: */
	struct job job;
	struct elf_file *found;
	bool no_elf;   /* what is mapped is none: no failure */
	bool misnamed; /* it is not found, and the build ID is another file's */
	bool is_named; /* the file is what the record speaks of */
	char path[];
};

/*
 * The opening of what the request is about; `st` is what the file was like when it was looked at
 * in the process, or NULL: it cannot be. All mappings of that file share one, and its handle keeps
 * the file. Where the process can be asked and has nothing to hold on to, it is begun at once. NULL
 * for lack of memory.
 */
struct open_job *open_job__new(struct process_table *, const struct open_request *,
			       const struct stat *st);
/* Begins it where that has not been done. True when it is done: at once where there are no jobs. */
bool open_job__ask(struct open_job *);
/* Where the process has its files besides, as long as it has not begun. */
void open_job__overlay(struct open_job *, struct overlays *);
/* One that is not done, or NULL: of a file of which that is said, or which is mapped like that. */
struct open_job *open_job__find(struct process_table *, const struct stat *st);
struct open_job *open_job__find_mapped(struct process_table *, const struct record_mmap *);
/* For one of a process that is gone: of what another one has mapped by that name and path. Only of
 * files that nobody but root can have made. */
struct open_job *open_job__find_claimed(struct process_table *, const struct open_request *);
struct open_job *open_job__get(struct open_job *); /* accepts NULL, as the next */
void open_job__put(struct open_job *);

#endif
