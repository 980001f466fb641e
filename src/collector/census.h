/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who runs already, and what is mapped there: a thread of its own reads /proc while this one loads
 * the BPF programs, which takes the kernel longer than many processes do.
 */
#ifndef COLLECTOR_CENSUS_H
#define COLLECTOR_CENSUS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/jobs.h"
#include "process/process.h"

struct census {
	struct jobs *jobs; /* that open the files */
	struct process_table *processes;
	pthread_t reader;
	bool reading;
	int err;
};

/* 0 or -errno, said. */
int census__init(struct census *);
/* Begins to read; to be called when the side-band is on: what is mapped later is told there. Until
 * the end the table and the jobs are the reader's. 0 or -errno, said. */
int census__begin(struct census *);
/* When all is read. 0 or -errno. */
int census__end(struct census *);
/* Ends the jobs, before what they would have told is freed. */
void census__stop(struct census *);
void census__free(struct census *);

#endif
