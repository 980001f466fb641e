/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the collector small: frees names, rules and tables that have not been used for 15 seconds,
 * frees more when the process exceeds --max-memory, and gives free memory back to the system.
 */
#ifndef COLLECTOR_MEMORY_H
#define COLLECTOR_MEMORY_H

#include "base/jobs.h"
#include "elf/elfcache.h"
#include "jit/jit.h"
#include "runtime/runtimes.h"

struct memory;

/* Sets how malloc() keeps free memory. Call it before threads are created. */
void memory__init_malloc(void);

struct memory_owners { /* borrowed */
	struct elf_cache *files;
	struct runtimes *runtimes; /* NULL: none are recorded */
	struct jit *jit;
};
/* Borrows the jobs. `max_sz`: bytes of anonymous memory, without the rings. Returns NULL and sets
 * errno. */
struct memory *memory__new(const struct memory_owners *, struct jobs *, size_t max_sz);
/* Call it after jobs__free(). Accepts NULL. */
void memory__free(struct memory *);

void memory__set_max(struct memory *, size_t max_sz);

/* Call it often, when no pointer into the data of a file is in use. `now_ns`: CLOCK_MONOTONIC. */
void memory__tick(struct memory *, uint64_t now_ns);

/* All numbers are bytes, unless a name has another unit. */
struct memory_stats {
	size_t max_sz;
	size_t anonymous_sz;	      /* in RAM, by the kernel's count */
	size_t slot_sz[ELF_SLOT_CNT]; /* of the data that is attached to files */
	size_t runtimes_sz;	      /* functions and code that were read from processes */
	size_t jit_sz;		      /* names and call-frame information that they publish */
	uint64_t unused_sz;	      /* freed because it was not used, since the start */
	uint64_t evicted_sz;	      /* freed because of `max_sz`, since the start */
};
void memory__stats(const struct memory *, struct memory_stats *);

#endif
