/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The short way up a stack: frame by frame through the files' tables, with three registers. No
 * allocation, no lock, no system call.
 */
#ifndef UNWIND_FLATWALK_H
#define UNWIND_FLATWALK_H

#include "event/trace.h"
#include "process/process.h"
#include "unwind/snapshot.h"
#include "unwind/tables.h"

struct flatwalk;

struct flatwalk *flatwalk__new(struct table_cache *); /* see tables__new() */
void flatwalk__free(struct flatwalk *);

struct tables *flatwalk__tables(struct flatwalk *);

/* The frame that is next, and what has been walked already is in the trace. */
struct flatwalk_state {
	const struct process *process;
	const struct snapshot *snapshot;
	struct trace *trace;
	const struct mapping *map; /* of the frame before; NULL: none */
	uint64_t pc, sp, fp;
	bool caller; /* pc is a return address */
};

enum flatwalk_end {
	FLATWALK_ROOT,	  /* done */
	FLATWALK_NO_FILE, /* the frame in the state is in no file: without CFI, if at all */
	FLATWALK_ODD,	  /* no flat rule, or one that leads nowhere: walk all of it the long way */
};

enum flatwalk_end flatwalk__go(struct flatwalk *, struct flatwalk_state *);

/* Asks for the tables of all files that the trace goes through: the next walk finds them. */
void flatwalk__ask(struct flatwalk *, const struct trace *);

#endif
