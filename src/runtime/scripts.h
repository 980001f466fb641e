/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the programs that interpreters run, by process: read once, by jobs. */
#ifndef RUNTIME_SCRIPTS_H
#define RUNTIME_SCRIPTS_H

#include "base/jobs.h"
#include "runtime/runtime.h"

struct scripts;

/* Both are borrowed; `proc` is an open /proc. NULL + errno. */
struct scripts *scripts__new(int proc, struct jobs *);
size_t scripts__sz(const struct scripts *); /* bytes */
/* Forgets processes that have ended and were not used since the last sweep. The next call must be
 * scripts__begin(). */
void scripts__sweep(struct scripts *);
/* Forgets the least recently used processes, until `sz` bytes are free. Returns the bytes freed.
 * The next call must be scripts__begin(). */
size_t scripts__shrink(struct scripts *, size_t sz);
void scripts__free(struct scripts *); /* after jobs__free(); accepts NULL */

/* The process of the functions that follow. */
struct scripts_owner {
	uint32_t tgid;
	uint64_t from_ns; /* struct process: another one when the pid is used again */
	const struct runtime_layout *layout;
	uint64_t event_ns; /* CLOCK_MONOTONIC; 0: code does not get copies */
};
/* Begins an event: the functions that the last one got may go now. Returns false
 * without memory, or while functions of what the process was before are being read. */
bool scripts__begin(struct scripts *, const struct scripts_owner *);
/*
 * Returns the function of a call, or NULL if it cannot be read any more, or not yet: *reads is
 * set then, and a job reads it after scripts__request(). Also returns NULL for a frame that only
 * links others. The description may be NULL.
 */
const struct script_function *scripts__find(struct scripts *, const struct event_call *,
					    const struct event_call *description, bool *reads);
void scripts__request(struct scripts *);

#endif
