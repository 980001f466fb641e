/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that began and have not ended: the event that began one (EVENT_F_OPEN) has its stacks
 * and whose it is, the one that ends it (EVENT_F_CLOSE) comes from an interrupt and has neither.
 * Bounded: when it is full the oldest is given up.
 */
#ifndef COLLECTOR_JOINS_H
#define COLLECTOR_JOINS_H

#include "collector/slice.h"

#define JOINS_MAX \
	16384 /* a device has some hundred requests in flight, a client some thousand SYNs */

struct joins;

struct joins *joins__new(void); /* NULL + errno */
void joins__free(struct joins *);

/*
 * Remembers what began; copies. NULL, or why another had to go for it, which is in *given_up then:
 * `state_full`, there are too many; `end_lost`, it began with the same `join` and nobody said how
 * it ended.
 */
const char *joins__open(struct joins *, const struct slice *, const struct build_id *,
			struct slice *given_up);

/*
 * What began the operation that `close` ends, with time, duration, amount and reason of its end,
 * and its detail where it has one. False when nothing is known of its beginning, and for one that
 * became part of another.
 */
bool joins__close(struct joins *, const struct event *close, struct slice *out,
		  struct build_id *build_id);

/* Each that is open, the oldest first; it may be closed. */
typedef void (*joins_fn)(const struct slice *, void *arg);
void joins__each(const struct joins *, joins_fn, void *arg);

#endif
