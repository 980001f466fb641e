/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the process table share: process.c applies records, procfs.c reads /proc,
 * mapping.c opens what is mapped. Private to src/process. */
#ifndef PROCESS_TABLE_H
#define PROCESS_TABLE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "process/elfcache.h"
#include "process/image.h"

struct entry {
	struct process pub;
	struct image *image; /* never NULL; pub.maps is its */
	bool named;	     /* pub.build_id is known: the first file mapped since exec */
	uint64_t refresh_ns; /* not before this time, CLOCK_MONOTONIC */
	uint64_t exited_ns;  /* != 0: in the queue of those that may be gone */
	unsigned scan;	     /* the last one that saw it */
	struct entry *prev, *next;
	UT_hash_handle hh;
};

struct process_table {
	int proc; /* the folder */
	struct elf_cache *files;
	struct pathtab *paths;
	struct elf_file *vdso; /* NULL when there is none */
	struct entry *processes;
	struct entry *exited; /* first gone first */
	unsigned scans;
	uint64_t files_failed;
};

/* Opens what the record says is mapped. The caller owns the references in *out. 0 or -errno. */
int process_table__map(struct process_table *, uint32_t tgid, const struct record_mmap *,
		       struct mapping *out);

/* The mappings as /proc has them now, none when the process is gone. NULL + errno. */
struct image *process_table__read(struct process_table *, uint32_t tgid);

/* Build ID of the main executable: of /proc/PID/exe, else of the image's first file. */
struct build_id process_table__exe(struct process_table *, uint32_t tgid, const struct image *);

#endif
