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
	bool named;	     /* pub.build_id is known: the first file mapped since exec */
	bool asked;	     /* /proc was read, or need not be */
	bool told;	     /* of a mapping, since exec */
	bool used;	     /* looked up since it was last spared */
	uint64_t refresh_ns; /* not before this time, CLOCK_MONOTONIC */
	uint64_t exited_ns;  /* != 0: in the queue of those that may be gone */
	unsigned scan;	     /* the last one that saw it */
	struct entry *prev, *next;
	UT_hash_handle hh;
};

/* Asked for each event; ids lie close together. */
static inline unsigned entry__hash(uint32_t tgid)
{
	return tgid * 2654435761u;
}

struct process_table {
	struct jobs *jobs;	   /* borrowed; NULL: who asks for a file waits */
	struct open_job *openings; /* not done yet, by inode */
	struct open_job *names;	   /* … and by what the kernel calls it */
	size_t waiting_cnt;	   /* of openings that have not begun: those with a handle … */
	size_t running_cnt;
	size_t openings_max; /* of each: of more that wait some are begun */
	struct file_places places;
	size_t process_max;
	uint64_t last_ns; /* time of the last record */
	size_t found;	  /* downloads that are in the mappings */
	struct elf_cache *files;
	struct pathtab *paths;
	struct elf_file *vdso; /* NULL when there is none */
	struct entry *processes;
	struct entry *exited; /* first gone first */
	unsigned scans;
	uint64_t files_failed;
};

/* Opens what the record says is mapped. The caller owns the references in *out. 0 or -errno. */
int process_table__map(struct process_table *, const struct entry *, const struct record_mmap *,
		       struct mapping *out);

/* Opens what could not be opened before, as far as it is known which file it was. */
void process_table__look_again(struct process_table *, const struct entry *);

/* The mappings as /proc has them now, none when the process is gone. NULL + errno. */
struct image *process_table__read(struct process_table *, const struct entry *);

/* Sets .build_id or, until that is known, .exe: of /proc/PID/exe, else of the first mapping. */
void process_table__name(struct process_table *, struct process *);

#endif
