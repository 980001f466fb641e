/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that processes make while they run, as far as they tell: in /tmp/perf-PID.map, and
 * in a jit-PID.dump that they have mapped. Files are opened as the process sees them, must be its
 * user's or root's, and are read again when they have grown; those of processes that records tell
 * of are read once. One thread. It may block on a slow file system, unless it is given jobs.
 */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "base/jobs.h"
#include "jit/jitfile.h"

struct jit;

struct jit_symbol {
	const char *name; /* raw; until the next call */
	uint64_t start;	  /* of the function, in the process */
};

struct jit *jit__new(const struct jit_places *); /* NULL + errno; strings live as long as it */
void jit__free(struct jit *);

/* The function that was at the place then, or false. */
bool jit__symbol(struct jit *, const struct jit_place *, struct jit_symbol *);

/*
 * Non-blocking variant: jobs of `jobs` read the files, which the caller collects. Returns JIT_READS
 * while the files of the process are being read; ask again after jobs__collect(). A process whose
 * files take longer than a second has no names until they are read.
 */
enum jit_answer { JIT_NONE, JIT_NAMED, JIT_READS };
enum jit_answer jit__ask(struct jit *, const struct jit_place *, struct jobs *,
			 struct jit_symbol *);

/*
 * 0: the process, as far as it was looked at, tells nothing. Else a number that changes when a
 * place of it may have another name than before.
 */
uint32_t jit__generation(const struct jit *, uint32_t tgid);

#endif
