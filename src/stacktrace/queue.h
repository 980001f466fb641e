/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reorders records between stream order and time order, which differ little. Each record is
 * processed in time order and emitted in stream order.
 */
#ifndef STACKTRACE_QUEUE_H
#define STACKTRACE_QUEUE_H

#include "formats/stream.h"

#define QUEUE_SZ_MAX (256u << 20) /* bytes queued; beyond this, records are processed early */
#define QUEUE_BATCH  32		  /* records processed together */

struct block;

struct queued {
	struct raw raw;
	const uint64_t *chain; /* the call chain of a sample; NULL: the record passes unchanged */
	size_t chain_cnt;
	size_t joined_cnt;     /* if not 0, .chain holds that many samples, each a struct item
				  followed by its chain; they are emitted here (chainjoin.h) */
	bool held;	       /* not emitted itself: a sample or chain joined elsewhere */
	struct item_cuts cuts; /* positions in the sample record for the writer */
	struct block *raw_block, *chain_block;
	bool done;
};

struct queue_handlers {
	void (*work)(void *arg, struct queued *); /* in time order; at most QUEUE_BATCH calls … */
	void (*settle)(void *arg);		  /* … before this one; then they are emitted */
	void (*emit)(void *arg, const struct queued *); /* in stream order */
	void *arg;
};

struct queue;

struct queue *queue__new(const struct queue_handlers *); /* NULL + errno on failure */
void queue__free(struct queue *);

/*
 * Adds a record. Returns 0 or -ENOMEM. Its bytes must stay valid until queue__off() has passed
 * them, unless `brief` is set; then they are copied. Processes the oldest records if the queue is
 * too large.
 */
int queue__add(struct queue *, const struct raw *, uint64_t time_ns);
/* Processes all records up to this time. */
void queue__until(struct queue *, uint64_t time_ns);
uint64_t queue__newest(const struct queue *); /* time of the newest record added */
uint64_t queue__oldest(const struct queue *); /* earliest time queued; 0 if none */
/* Returns the offset of the first record queued, or UINT64_MAX if none. */
uint64_t queue__off(const struct queue *);
size_t queue__sz(const struct queue *); /* bytes queued */

/* Allocates the chain of the record. Returns NULL if out of memory. For work() and settle(). */
uint64_t *queue__chain(struct queue *, struct queued *, size_t cnt);

#endif
