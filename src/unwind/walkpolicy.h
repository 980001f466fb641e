/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walking policy of all programs: which walk is used, what happens while a file is being read,
 * when the mappings of a process are read again, and when truncated stacks are stitched. Programs
 * differ only in how they wait: enum walk_wait.
 */
#ifndef UNWIND_WALKPOLICY_H
#define UNWIND_WALKPOLICY_H

#include "unwind/libdwflwalk.h"
#include "unwind/stitch.h"
#include "unwind/unwinder.h"

struct walk_options {
	bool naive;			 /* walk with libdwfl alone, to compare */
	size_t stitch_sz;		 /* bytes of stacks that are remembered; 0: do not stitch */
	struct table_cache *cache;	 /* borrowed; NULL: tables are not kept on disk */
	struct jobs *jobs;		 /* borrowed; they read the files */
	struct process_table *processes; /* borrowed */
	struct jit *jit;		 /* borrowed; NULL: JIT code is walked by frame pointer */
};

struct walk_policy {
	struct jobs *jobs;
	struct process_table *processes;
	struct unwinder *unwinder; /* NULL: libdwfl alone */
	struct libdwflwalk *naive;
	struct stitch *stitch; /* NULL: do not stitch */
	/*
	 * Returns true if the process's mappings or files have become more complete since the walk,
	 * so that a walk may get further. NULL: the policy reads the mappings from /proc once.
	 */
	bool (*has_more)(void *arg, struct process *, const struct trace *);
	void *arg;
};

/* Returns 0, or -ENOMEM with `*w` closed. Set .has_more afterwards. */
int walk_policy__open(struct walk_policy *w, const struct walk_options *);
/* Call it after jobs__free(), and also if nothing was opened (all fields 0). */
void walk_policy__close(struct walk_policy *);

/* What a walk does while a job reads a file that it needs. */
enum walk_wait {
	WALK_RETRIES,	/* it returns false; its caller retries */
	WALK_AVAILABLE, /* it uses the files that have been read */
	WALK_WAITS,	/* it waits for the tables, at most 10 s for each */
	WALK_READS,	/* it reads the file itself, and libdw gives the rules until the table is
			   complete */
};

struct walk {
	struct process *process; /* changes to the table's process if its mappings have changed */
	const struct sample *sample;
	struct trace *trace;
	uint32_t tid;
	enum walk_wait wait;
	bool walked; /* unwinder__try_many() has filled the trace */
	bool again;  /* output: the mappings changed, so that earlier walks may be wrong, too */
};

/*
 * Fills the trace. If a mapping is missing, reads the mappings again and walks again. Stitches a
 * truncated stack. Returns false, with `*trace` undefined, only with WALK_RETRIES: retry after
 * jobs__collect() has returned a job.
 */
bool walk_policy__walk(struct walk_policy *, struct walk *);

#endif
