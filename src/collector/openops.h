/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that began and have not ended: the event that began one (EVENT_F_OPEN) has its stacks
 * and whose it is, the one that ends it (EVENT_F_CLOSE) comes from an interrupt and has neither.
 * Bounded: when it is full the oldest is given up.
 */
#ifndef COLLECTOR_OPENOPS_H
#define COLLECTOR_OPENOPS_H

#include "collector/slice.h"

#define OPEN_OPS_MAX \
	16384 /* a device has some hundred requests in flight, a client some thousand SYNs */

struct open_ops;

struct open_ops *open_ops__new(void); /* NULL + errno */
void open_ops__free(struct open_ops *);

/*
 * Remembers what began; copies. NULL, or why another had to go for it, which is in *given_up then:
 * `state_full`, there are too many; `end_lost`, it began with the same `join` and nobody said how
 * it ended.
 */
const char *open_ops__open(struct open_ops *, const struct slice *, const struct build_id *,
			   struct slice *given_up);

/*
 * What began the operation that `close` ends, with time, duration, amount and reason of its end,
 * and its detail where it has one. False when nothing is known of its beginning, and for one that
 * became part of another.
 */
bool open_ops__close(struct open_ops *, const struct event *close, struct slice *out,
		     struct build_id *build_id);

/* Each that is open, the oldest first; it may be closed. */
typedef void (*joins_fn)(const struct slice *, void *arg);
void open_ops__each(const struct open_ops *, joins_fn, void *arg);

#endif
