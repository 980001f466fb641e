/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Demangles names in a worker (worker/workers.h). */
#ifndef SYMBOL_NAMETASK_H
#define SYMBOL_NAMETASK_H

#include "symbol/demangle.h"
#include "worker/channel.h"
#include "worker/workers.h"

/* Mangled names, each with its NUL. Zero-initialized. */
struct name_batch {
	size_t cnt, sz;
	char text[CHANNEL_PAYLOAD_MAX];
};

/* Returns false if there is no room. */
bool name_batch__add(struct name_batch *, const char *mangled);

/* The source of the names. */
struct name_owner {
	uint64_t id; /* .owner of the request */
	const char *path;
};

/* Called for each name, in order, with its readable form; valid until it returns. */
typedef void (*readable_name_fn)(const char *readable, void *arg);

/* Reports the readable names, all or none. Returns 0, or an error of workers__request(). */
int name_task__request(struct workers *, const struct name_batch *, struct name_owner,
		       readable_name_fn fn, void *arg);

/* The function for TASK_NAMES, in a worker. */
int name_task__run(struct task *);

#endif
