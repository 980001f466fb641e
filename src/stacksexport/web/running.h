/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is being computed: for the progress that the page shows, limits of time, and cancelling. */
#ifndef STACKSEXPORT_WEB_RUNNING_H
#define STACKSEXPORT_WEB_RUNNING_H

#include <duckdb.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"

/* One computation, on the stack of its thread. */
struct running_task {
	struct running_task *next;
	const char *what;	      /* for people; borrowed */
	duckdb_connection connection; /* what it runs on; NULL: none */
	uint64_t begin_ns, limit_ns;  /* limit_ns 0: it may take any time */
	bool can_cancel;
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

/* The fields `next` and `begin_ns` are set here. */
void running__begin(struct running *, struct running_task *);
void running__end(struct running *, struct running_task *);

/* Interrupts all tasks that can be cancelled. */
void running__cancel(struct running *);

/* Interrupts everything: the program ends. */
void running__stop(struct running *);

/* Appends an array: what, fraction, ms. */
void running__show(struct running *, struct buf *);

#endif
