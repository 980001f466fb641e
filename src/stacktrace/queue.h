/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the order in which records stand in a stream, which is nearly theirs in time, and that
 * in time: each is worked on in the order of time, and goes out in the order in which it came.
 */
#ifndef STACKTRACE_QUEUE_H
#define STACKTRACE_QUEUE_H

#include "formats/stream.h"

#define QUEUE_SZ_MAX (256u << 20) /* bytes that wait; with more, time has to pass */
#define QUEUE_BATCH  32		  /* records that are worked on together */

struct block;

struct queued {
	struct raw raw;
	const uint64_t *chain; /* what was made of a sample; NULL: it passes as it is */
	size_t chain_cnt;
	size_t joined_cnt;     /* .chain is that many samples instead, each a struct item with its
				  chain behind it: they go out here (chainjoin.h) */
	bool held;	       /* a sample that goes out elsewhere, like these */
	struct item_cuts cuts; /* where it goes */
	struct block *raw_block, *chain_block;
	bool done;
};

struct queue_handlers {
	void (*work)(void *arg, struct queued *); /* in the order of time; QUEUE_BATCH at most … */
	void (*settle)(void *arg);		  /* … until this; then they go out */
	void (*emit)(void *arg, const struct queued *); /* in the order of the stream */
	void *arg;
};

struct queue;

struct queue *queue__new(const struct queue_handlers *); /* NULL + errno */
void queue__free(struct queue *);

/*
 * The record's bytes have to stay as long as queue__off() is not behind them; it is copied when
 * they are brief. 0 or -ENOMEM. Works on what has waited too long.
 */
int queue__add(struct queue *, const struct raw *, uint64_t time_ns);
/* Works on all that is not later. */
void queue__until(struct queue *, uint64_t time_ns);
uint64_t queue__newest(const struct queue *); /* of all that came so far */
uint64_t queue__oldest(const struct queue *); /* that waits and has a time; 0: none does */
uint64_t queue__off(const struct queue *);    /* of the first that waits; UINT64_MAX: none does */
size_t queue__sz(const struct queue *);	      /* bytes that wait */

/* For work() and settle(): room for the record's chain. NULL without memory. */
uint64_t *queue__chain(struct queue *, struct queued *, size_t cnt);

#endif
