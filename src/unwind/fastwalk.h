/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast walk: unwinds frame by frame through the files' tables and tracks three registers (pc,
 * sp, fp). It does not allocate, lock or make a system call.
 */
#ifndef UNWIND_FASTWALK_H
#define UNWIND_FASTWALK_H

#include "unwind/fastslot.h"

struct jobs;
struct table_cache;

struct fastwalk;

struct fastwalk *fastwalk__new(struct table_cache *, struct jobs *); /* see table_store__new() */
void fastwalk__free(struct fastwalk *);

struct table_store *fastwalk__tables(struct fastwalk *);

#define FASTWALK_SLOTS 16

/* Walks `cnt` stacks, up to FASTWALK_SLOTS at a time and one frame of each in turn, so that the
 * cache misses of several walks overlap. */
void fastwalk__go(struct fastwalk *, struct fastwalk_slot *, size_t cnt);

/* Returns true if a table has a rule to unwind a caller at this place in the mapping. Requests the
 * file's table if it is not loaded. */
bool fastwalk__has_rule(struct fastwalk *, const struct mapping *, uint64_t place);

/* Returns true if a loaded table says that the place has no rule. Requests the table, too. */
bool fastwalk__has_no_rule(struct fastwalk *, const struct mapping *, uint64_t place);

/*
 * Makes the fast walk follow the frame pointer at this place from now on. Call it for a place
 * without CFI at which the slow walk found the caller by frame pointer. Does nothing if the table
 * has a rule for the place.
 */
void fastwalk__use_frame_pointer(struct fastwalk *, const struct mapping *, uint64_t place);

/* Requests the tables of all files in the trace, so that later walks find their rules. */
void fastwalk__request_tables(struct fastwalk *, const struct trace *);

#endif
