/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples whose user-space call chain comes later, in a record of its own (ITEM_CHAIN). The kernel
 * joins all samples of one stay of a thread in the kernel to one such record. Samples wait here
 * until it comes, DEFERRED_MAX of them at most, and go out with it.
 */
#ifndef STACKTRACE_CHAINJOIN_H
#define STACKTRACE_CHAINJOIN_H

#include "formats/item.h"
#include "stacktrace/queue.h"

#define DEFERRED_MAX                                                                \
	16384 /* of more the one that has waited longest goes out without its chain \
	       */

struct chain_join_options {
	struct queue *queue; /* borrowed */
	bool at_once;	     /* samples are taken when their chain is known, not where it stands */
	void (*take)(void *arg, const struct item *sample); /* with its whole chain; borrowed */
	void *arg;
};

struct chain_join;

struct chain_join *chain_join__new(const struct chain_join_options *); /* NULL + errno */
void chain_join__free(struct chain_join *);			       /* accepts NULL */

/* In the order of time. Keeps a copy of a sample that awaits its chain: its queued record is held.
 * False: it does not, or there is no memory. */
bool chain_join__hold(struct chain_join *, const struct item *sample, struct queued *);

/*
 * In the order of time. All samples of the thread that wait go out with the queued record of the
 * chain, in their order: those that await this chain with it, the others with the kernel's part of
 * theirs, as what they await was lost.
 */
void chain_join__join(struct chain_join *, const struct item *chain, struct queued *);

/* In the order of the stream: the samples that go out with this record. */
void chain_join__emit(struct chain_join *, const struct queued *);

/* Behind all records: all that still wait. */
void chain_join__rest(struct chain_join *);

#endif
