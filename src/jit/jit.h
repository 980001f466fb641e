/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that processes make at run time, from their /tmp/perf-PID.map and from a
 * jit-PID.dump that they have mapped. Files are opened in the process's view of the file system and
 * must belong to its user or to root. They are read again when they have grown; files of recorded
 * processes are read once. One thread at a time. May block on a slow file system unless jobs read.
 */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "base/jobs.h"
#include "jit/jitfile.h"

struct jit;

struct jit_symbol {
	const char *name; /* raw; valid until the next call */
	uint64_t start;	  /* of the function, in the process */
};

/* keeps the strings; returns NULL and sets errno on failure */
struct jit *jit__new(const struct jit_places *);
void jit__free(struct jit *);

/* Finds the function that was at the place at that time. Returns false if none is known. */
bool jit__symbol(struct jit *, const struct jit_place *, struct jit_symbol *);

/*
 * Non-blocking variant: jobs of `jobs` read the files, which the caller collects. Returns JIT_READS
 * while the files of the process are being read; call again after jobs__collect(). If reading takes
 * longer than a second, the process has no names until then.
 */
enum jit_answer { JIT_NONE, JIT_NAMED, JIT_READS };
enum jit_answer jit__ask(struct jit *, const struct jit_place *, struct jobs *,
			 struct jit_symbol *);

/*
 * Returns 0 if the process, as far as it was examined, publishes no names. Otherwise returns a
 * number that changes when a place in the process may have another name than before.
 */
uint32_t jit__generation(const struct jit *, uint32_t tgid);

#endif
