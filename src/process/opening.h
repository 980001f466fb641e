/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mapped file that is being opened by a job: who hears of the mapping must not wait for a disk or
 * a server. Shared by all mappings of the file meanwhile. Private to src/process.
 */
#ifndef PROCESS_OPENING_H
#define PROCESS_OPENING_H

#include <sys/stat.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "process/table.h"

struct opening_key {
	uint64_t dev, ino;
};

struct opening {
	unsigned refs;
	bool done;
	struct elf_file *file; /* a reference; NULL: not done, or there is none */
	struct opening_key key;
	struct timespec ctime;
	UT_hash_handle hh; /* of the table's, by key, until it is done */
};

/*
 * The opening of what the request is about, begun where it is not under way; `st` is the file's, or
 * NULL: it cannot be looked at. NULL when too many are under way, or memory is short.
 */
struct opening *opening__begin(struct process_table *, const struct open_request *,
			       const struct stat *st);
/* One that is under way, or NULL: of a file of which that is said, or which is mapped like that. */
struct opening *opening__find(struct process_table *, const struct stat *st);
struct opening *opening__find_mapped(struct process_table *, const struct record_mmap *);
struct opening *opening__get(struct opening *); /* accepts NULL, as the next */
void opening__put(struct opening *);

#endif
