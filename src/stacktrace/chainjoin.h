/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joins samples to a user-space call chain that follows in a separate record (ITEM_CHAIN). The
 * kernel writes one such record for all samples of a thread between one entry to the kernel and its
 * exit. At most DEFERRED_MAX samples are pending until their record arrives. They are emitted with
 * it.
 */
#ifndef STACKTRACE_CHAINJOIN_H
#define STACKTRACE_CHAINJOIN_H

#include "formats/item.h"
#include "stacktrace/queue.h"

#define DEFERRED_MAX                                                                  \
	16384 /* beyond this, the sample pending longest is emitted without its chain \
	       */

struct chain_join_options {
	struct queue *queue; /* borrowed */
	bool at_once; /* call take() when the chain is known, not at its place in the stream */
	void (*take)(void *arg, const struct item *sample); /* with its complete chain; borrowed */
	void *arg;
};

struct chain_join;

struct chain_join *chain_join__new(
	const struct chain_join_options *); /* Returns NULL if out of memory. */
void chain_join__free(struct chain_join *); /* Accepts NULL. */

/* Copies a sample with a deferred chain, and sets `held` in its queued record. Returns false if the
 * chain is not deferred, or if out of memory. Call in time order. */
bool chain_join__hold(struct chain_join *, const struct item *sample, struct queued *);

/*
 * Attaches all pending samples of the thread to the queued record of the chain, in their order.
 * Samples that refer to this chain get it. The others keep only the kernel part of theirs, because
 * the chain they refer to was lost. Call in time order.
 */
void chain_join__join(struct chain_join *, const struct item *chain, struct queued *);

/* Passes the samples attached to this record to take(). Call in stream order. */
void chain_join__emit(struct chain_join *, const struct queued *);

/* Passes all samples still pending to take(), without their chains. Call after the last record. */
void chain_join__rest(struct chain_join *);

#endif
