/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of each thread between its events: the ids of its strings in the batch, so that no
 * event needs a look-up by string, and the slice that waits to be joined (slice.h).
 */
#ifndef COLLECTOR_THREADTABLE_H
#define COLLECTOR_THREADTABLE_H

#include <stdbool.h>

#include "base/hash.h"
#include "event/record.h"
#include "store/row.h"

struct resolved_event; /* slice.h */

struct thread {
	uint32_t tid, tgid;
	uint32_t
		generation; /* of the IDs: they are stale if the recording has another generation */
	char comm[EVENT_COMM_SZ], name[EVENT_COMM_SZ];
	uint64_t cgroup_id;
	struct build_id build_id;
	uint32_t comm_id, name_id, cgroup_str_id, build_id_id;
	bool exited;
	uint32_t sweep;			/* number of the last sweep before its last event */
	struct resolved_event *pending; /* waits to be joined with the next slice, or NULL */
	UT_hash_handle hh;
};

struct threads {
	struct thread *by_tid;
	uint32_t sweeps;
};

/* Returns the thread, and adds it if it is new. Returns NULL if out of memory. */
struct thread *threads__get(struct threads *, uint32_t tid);
struct thread *threads__find(struct threads *, uint32_t tid); /* or NULL */
/* Returns true if the thread had no event between the last two sweeps, and since. */
bool threads__is_idle(const struct threads *, const struct thread *);
/*
 * Frees the threads without a pending slice that exited or are idle. The next event of an idle
 * thread adds it again. A thread that an event adds after its end stays until it is idle.
 */
void threads__sweep(struct threads *);
size_t threads__sz(const struct threads *); /* bytes */
void threads__free(struct threads *);

#endif
