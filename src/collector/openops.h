/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that have begun and not ended. The event that begins one (EVENT_F_OPEN) has the stacks
 * and the thread. The event that ends it (EVENT_F_CLOSE) comes from an interrupt and has neither.
 * The table is bounded: if it is full, the oldest operation is dropped.
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
 * Adds a copy of an operation that begins. Returns NULL, or the reason for which another operation
 * was dropped; *given_up then holds that one. `state_full`: too many are open. `end_lost`: it had
 * the same `join`, and its end was never seen.
 */
const char *open_ops__open(struct open_ops *, const struct resolved_event *,
			   const struct build_id *, struct resolved_event *given_up);

/*
 * Removes the operation that `close` ends. Fills *out with its begin, and with the time, duration,
 * amount, reason and (if it has one) detail of its end. With EVENT_F_UNTIMED, the time is that of
 * the begin, and the duration is 0. Returns false if its begin is unknown, or if it was merged into
 * another operation.
 */
bool open_ops__close(struct open_ops *, const struct event *close, struct resolved_event *out,
		     struct build_id *build_id);

/* Calls fn for each open operation, the oldest first. fn may close it. */
typedef void (*joins_fn)(const struct resolved_event *, void *arg);
void open_ops__each(const struct open_ops *, joins_fn, void *arg);

#endif
