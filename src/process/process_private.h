/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process table: process.c applies records, tablemaps.c makes mappings, and facts.c reads what
 * else /proc has. Private to src/process. */
#ifndef PROCESS_PROCESS_PRIVATE_H
#define PROCESS_PROCESS_PRIVATE_H

#include "base/hash.h"
#include "process/image.h"
#include "process/lookup.h"
#include "process/openjob.h"

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
	struct open_jobs open;
	size_t process_max;
	uint64_t last_ns; /* time of the last record */
	size_t found;	  /* downloads already applied to the mappings */
	struct pathtab *paths;
	struct elf_file *vdso; /* NULL when there is none */
	struct entry *processes;
	struct entry *exited; /* in order of exit */
	unsigned scans;
};

#endif
