/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The computations in progress: for the page's progress bar, time limits and cancelling. */
#ifndef STACKSEXPORT_WEB_RUNNING_H
#define STACKSEXPORT_WEB_RUNNING_H

#include <duckdb.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"

/* One computation, on the stack of its thread. */
struct running_task {
	struct running_task *next;
	const char *what;	      /* for users; borrowed */
	duckdb_connection connection; /* the connection it uses; NULL: none */
	uint64_t begin_ns, limit_ns;  /* limit_ns 0: no limit */
	bool can_cancel;
	bool in_background; /* no request waits for it */
};

struct running {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t watch;
	struct running_task *tasks;
	bool ends;
};

/* Starts the thread that interrupts tasks when they reach their limit. Returns 0 or -errno. */
int running__init(struct running *);
void running__destroy(struct running *);

/* Sets the fields `next` and `begin_ns`. */
void running__begin(struct running *, struct running_task *);
void running__end(struct running *, struct running_task *);

/* Returns whether a request is being answered. */
bool running__has_request(struct running *);

/* Interrupts all tasks that can be cancelled. */
void running__cancel(struct running *);

/* Interrupts all tasks, because the program ends. */
void running__stop(struct running *);

/* Appends an array: what, fraction, ms; those in the background last. */
void running__show(struct running *, struct buf *);

#endif
