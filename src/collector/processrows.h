/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of processes: one for each process that has an event in the batch, and another after
 * each exec. What /proc shows is kept between batches. It is read again after 1, 2, 4 … batches,
 * because a process may change its command line (setproctitle(3)).
 */
#ifndef COLLECTOR_PROCESSROWS_H
#define COLLECTOR_PROCESSROWS_H

#include "collector/clock.h"
#include "process/process.h"
#include "store/recording.h"

struct process_rows;

/* Borrows all three. Returns NULL if out of memory. */
struct process_rows *process_rows__new(struct recording *, const struct process_table *,
				       const struct clock *);
void process_rows__free(struct process_rows *); /* accepts NULL */

/*
 * Adds the row of the process of an event, unless the batch has it. The caller has set timestamp,
 * tgid, cgroup, container and host, and calls it for the first event of each thread in a batch, and
 * for the first one after a fork or an exec. May read /proc.
 */
void process_rows__see(struct process_rows *, const struct process_row *seen);

/* Another program runs in the process: its next event gets a row. */
void process_rows__exec(struct process_rows *, uint32_t tgid);
/* A new process has this id. */
void process_rows__fork(struct process_rows *, uint32_t tgid);
/* A batch has begun: frees what the last one did not need. */
void process_rows__sweep(struct process_rows *);
/* Frees everything. The batch has no row of a process. */
void process_rows__forget(struct process_rows *);

#endif
