/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that managed runtimes have made, by process: read piece by piece, by jobs, when a stack
 * has an address in it. For the main thread.
 */
#ifndef RUNTIME_CODES_H
#define RUNTIME_CODES_H

#include "base/jobs.h"
#include "process/managed.h"
#include "runtime/runtime.h"

struct codes;

/* Both are borrowed; `proc` is an open /proc. NULL + errno. */
struct codes *codes__new(int proc, struct jobs *);
/* Forgets processes that have ended and were not used since the last sweep. */
void codes__sweep(struct codes *);
/* Forgets the code of the least recently used processes, until `sz` bytes are free. Returns the
 * bytes freed. */
size_t codes__shrink(struct codes *, size_t sz);
void codes__free(struct codes *); /* after jobs__free(); accepts NULL */

/* Declares that a process has such a runtime. `from_ns` is that of struct process. */
struct codes_owner {
	uint32_t tgid;
	uint64_t from_ns;
	const struct runtime_layout *layout; /* copied */
	const struct code_ranges *ranges;    /* copied */
};
void codes__add(struct codes *, const struct codes_owner *);

/* Returns the layout of a process's runtime, or NULL: it has none that makes code. */
const struct runtime_layout *codes__layout(struct codes *, const struct process *);

/* Functions of struct managed_code; `arg` is the struct codes. */
enum managed_result codes__step(void *arg, const struct managed_query *, struct managed_frame *);
bool codes__may_own(void *arg, const struct mapping *);

/* Returns the code at a place, or NULL if none is known. Valid until jobs__collect(). */
const struct code_blob *codes__at(struct codes *, const struct process *, uint64_t place);

struct codes_stats {
	uint64_t jobs, read, checked; /* jobs; pieces that were read, or found to be the same */
	size_t sz;
};
void codes__stats(const struct codes *, struct codes_stats *);

#endif
