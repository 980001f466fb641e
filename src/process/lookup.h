/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process: its executable mappings at a time, and look-ups in them. */
#ifndef PROCESS_LOOKUP_H
#define PROCESS_LOOKUP_H

#include "process/mapping.h"

struct process {
	uint32_t tgid;
	uint64_t from_ns;	  /* the mappings already include records before this time */
	struct build_id build_id; /* of the main executable */
	struct open_job *exe;	  /* pending opening; .build_id is not known yet */
	struct mapping *maps;	  /* ascending, no overlaps, executable ones only */
	size_t map_cnt;
	uint64_t version; /* of .maps: changes with every change, unique to this process; 0: unknown
			   */
	struct image *image; /* private to src/process; owns .maps */
	uint16_t *hints;     /* of the image, for process__find() alone; NULL: none */
};

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

/* Returns a cached index of the mapping with that address. It may be stale; verify it. */
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

#endif
