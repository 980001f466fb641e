/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of interpreted programs, from the first look at a process to the merged stack. Jobs
 * read files and the memory of processes. For the main thread.
 */
#ifndef RUNTIME_RUNTIMES_H
#define RUNTIME_RUNTIMES_H

#include "base/jobs.h"
#include "event/record.h"
#include "process/managed.h"
#include "process/process.h"
#include "runtime/runtime.h"

struct runtimes;

struct runtimes_options {
	struct jobs *jobs; /* borrowed */
	uint32_t wanted;   /* a bit for each row of runtimes_table */
	/* Called by jobs__collect(): from now on events of this executable file have calls. */
	void (*found)(uint64_t ino, const struct capture_runtime *, void *arg);
	void *arg;
};

struct runtimes *runtimes__new(const struct runtimes_options *); /* NULL + errno */
void runtimes__free(struct runtimes *); /* after jobs__free(); accepts NULL */

/* Bits of a comma-separated list of names. Returns 0, or -EINVAL for an unknown name. */
int runtimes__parse(const char *list, uint32_t *wanted);
#define RUNTIMES_ALL UINT32_MAX

/* Looks into a process that may have a runtime, by a job, unless that was done. Cheap if so. */
void runtimes__look(struct runtimes *, const struct process *);
/* Returns true while a job looks into a process. */
bool runtimes__is_looking(const struct runtimes *);

/* Returns the bytes of functions and code that were read from processes. Accepts NULL. */
size_t runtimes__sz(const struct runtimes *);
/* Forgets processes that have ended and were not used since the last sweep. Accepts NULL. */
void runtimes__sweep(struct runtimes *);
/* Forgets the functions and the code of the least recently used processes, until `sz` bytes are
 * free. They are read again when needed. Returns the bytes freed. Accepts NULL. */
size_t runtimes__shrink(struct runtimes *, size_t sz);

/* For unwinder__set_managed(); valid as long as the runtimes. */
struct managed_code runtimes__code(struct runtimes *);

/*
 * Merges the calls of an event into its walked stack. Returns false, with the trace as it was,
 * while functions are being read; never if this is the `last` try.
 */
struct runtimes_event {
	const struct process *process;
	const struct event *event;
	const struct snapshot *stack;
	bool last;
};
bool runtimes__merge(struct runtimes *, const struct runtimes_event *, struct trace *);
/* Requests the functions of an event's calls. Called while its stack cannot be walked yet. */
void runtimes__request(struct runtimes *, const struct process *, const struct event *);

#endif
