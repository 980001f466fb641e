/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the processes and threads of a timeline (sql/trace/threads.sql). */
#ifndef STACKSEXPORT_TRACKS_THREADNAMES_H
#define STACKSEXPORT_TRACKS_THREADNAMES_H

#include "base/hash.h"
#include "stacksexport/duck/db.h"

struct thread_name {
	UT_hash_handle hh;
	struct thread_id {
		int32_t pid, tid;
	} id;
	char *command, *thread; /* "" if unknown */
};

/* In the order of process and thread; iterate with HASH_ITER(). */
struct thread_names {
	struct thread_name *names;
};

/* Returns 0 or -errno (already logged); call thread_names__free() in either case. */
int thread_names__read(struct thread_names *, struct db *);
void thread_names__free(struct thread_names *);

/* Returns NULL if the thread is unknown. */
const struct thread_name *thread_names__find(const struct thread_names *, struct thread_id);

#endif
