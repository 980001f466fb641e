/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that run already, and their mappings. A thread reads /proc while the main thread
 * loads the BPF programs, which takes the kernel longer than reading many processes does.
 */
#ifndef COLLECTOR_CENSUS_H
#define COLLECTOR_CENSUS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/jobs.h"
#include "process/process.h"
#include "runtime/runtimes.h"

struct census {
	struct jobs *jobs; /* open the files */
	struct process_table *processes;
	pthread_t reader;
	bool reading;
	int err;
};

/* Returns 0 or -errno (already logged). */
int census__init(struct census *);
/* Starts the reader thread. Call it when the side-band is on, which reports later mappings. Until
 * census__end() returns, only the reader thread may use the table and the jobs. Returns 0 or -errno
 * (already logged). */
int census__begin(struct census *);
/* Waits until the reader thread has read everything. Returns 0 or -errno. */
int census__end(struct census *);
/* Finds the runtimes of the processes, after census__end(). Waits half a second at most for
 * processes that do not respond. */
void census__find_runtimes(struct census *, struct runtimes *);
/* Stops the jobs. Call it before the objects to which they report are freed. */
void census__stop(struct census *);
void census__free(struct census *);

#endif
