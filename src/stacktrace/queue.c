// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stacktrace/timeorder.h"

#define BLOCK_SZ       (1u << 20)
#define PREFETCH_AHEAD 8 /* records */
#define PREFETCH_LINES 5 /* cache lines of a sample before its stack */

/* Chains and copied records are packed into blocks. A block is reused or freed when everything in
 * it has been released. */
struct block {
	struct block *next; /* in the free list */
	size_t sz, cap, users;
	uint64_t data[];
};

struct blocks {
	struct block *current, *spare;
};

struct queue {
	struct queue_handlers handlers;
	struct blocks blocks;
	size_t sz;		/* bytes of the queued records */
	struct queued *entries; /* in stream order from `first`; a ring of `cap`, a power of two */
	uint64_t first, end;	/* counted from the start of the stream */
	size_t cap;
	struct timeorder order; /* entries not processed yet */
	uint64_t newest_ns;
};

/* ---- blocks ---- */

static struct block *block__new(struct blocks *b, size_t sz)
{
	struct block *n = b->spare;
	size_t cap = sz > BLOCK_SZ ? sz : BLOCK_SZ;

	if (n && n->cap >= cap) {
		b->spare = n->next;
	} else {
		n = malloc(sizeof(*n) + cap);
		if (!n)
			return NULL;
		n->cap = cap;
	}
	n->sz = n->users = 0;
	return n;
}

static void block__put(struct blocks *b, struct block *n)
{
	if (!n || --n->users > 0)
		return;
	if (n == b->current) {
		n->sz = 0;
		return;
	}
	if (n->cap > BLOCK_SZ) {
		free(n);
		return;
	}
	n->next = b->spare;
	b->spare = n;
}

/* Returns memory aligned to 8 bytes and its block, or NULL if out of memory. An unused current
 * block is reset, not freed. */
static void *blocks__take(struct blocks *b, size_t sz, struct block **owner)
{
	size_t padded = (sz + 7) & ~(size_t)7;
	void *at;

	if (!b->current || b->current->cap - b->current->sz < padded) {
		struct block *n = block__new(b, padded), *old = b->current;

		if (!n)
			return NULL;
		b->current = n;
		if (old && old->users == 0) {
			old->users = 1;
			block__put(b, old);
		}
	}
	at = (uint8_t *)b->current->data + b->current->sz;
	b->current->sz += padded;
	b->current->users++;
	*owner = b->current;
	return at;
}

static void blocks__free(struct blocks *b)
{
	free(b->current);
	for (struct block *n = b->spare, *next; n; n = next) {
		next = n->next;
		free(n);
	}
}

/* ---- the queue ---- */

struct queue *queue__new(const struct queue_handlers *h)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (q)
		q->handlers = *h;
	return q;
}

static struct queued *queue_entry(const struct queue *q, uint64_t idx)
{
	return &q->entries[idx & (q->cap - 1)];
}

static void queue_release(struct queue *q, struct queued *e)
{
	q->sz -= e->raw.sz;
	block__put(&q->blocks, e->raw_block);
	block__put(&q->blocks, e->chain_block);
}

void queue__free(struct queue *q)
{
	if (!q)
		return;
	for (; q->first < q->end; q->first++)
		queue_release(q, queue_entry(q, q->first));
	blocks__free(&q->blocks);
	free(q->entries);
	timeorder__free(&q->order);
	free(q);
}

static int queue_grow(struct queue *q)
{
	size_t cap = q->cap ? 2 * q->cap : 1024;
	struct queued *entries = calloc(cap, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	for (uint64_t i = q->first; i < q->end; i++)
		entries[i & (cap - 1)] = *queue_entry(q, i);
	free(q->entries);
	q->entries = entries;
	q->cap = cap;
	return 0;
}

static void queue_emit_done(struct queue *q)
{
	for (; q->first < q->end && queue_entry(q, q->first)->done; q->first++) {
		q->handlers.emit(q->handlers.arg, queue_entry(q, q->first));
		queue_release(q, queue_entry(q, q->first));
	}
}

/* Prefetches the record `ahead` positions on in time order. */
static void queue_prefetch(struct queue *q, size_t ahead)
{
	const struct timeorder *o = &q->order;
	const uint8_t *data;

	if (ahead >= o->cnt - o->at)
		return;
	data = queue_entry(q, o->v[o->at + ahead].idx)->raw.data;
	for (size_t line = 0; line < PREFETCH_LINES; line++)
		__builtin_prefetch(data + line * 64);
}

/* Processes up to QUEUE_BATCH records up to this time. Returns false if there were none. */
static bool queue_work_on_some(struct queue *q, uint64_t time_ns)
{
	const struct timeorder_entry *w;
	size_t cnt = 0;

	for (; cnt < QUEUE_BATCH && (w = timeorder__first(&q->order)) && w->time_ns <= time_ns;
	     cnt++) {
		struct queued *e = queue_entry(q, w->idx);

		queue_prefetch(q, PREFETCH_AHEAD);
		timeorder__step(&q->order);
		e->done = true;
		q->handlers.work(q->handlers.arg, e);
	}
	if (cnt)
		q->handlers.settle(q->handlers.arg);
	queue_emit_done(q);
	return cnt > 0;
}

void queue__until(struct queue *q, uint64_t time_ns)
{
	while (queue_work_on_some(q, time_ns))
		;
}

/* Halves an overfull queue. Earlier records may still follow and are then processed out of order.
 */
static void queue_relieve(struct queue *q)
{
	while (q->sz > QUEUE_SZ_MAX / 2 && queue_work_on_some(q, UINT64_MAX))
		;
}

/* Copies a record that the reader will overwrite. Returns 0 or -ENOMEM. */
static int queue_copy(struct queue *q, struct queued *e)
{
	void *to = blocks__take(&q->blocks, e->raw.sz, &e->raw_block);

	if (!to)
		return -ENOMEM;
	memcpy(to, e->raw.data, e->raw.sz);
	e->raw.data = to;
	return 0;
}

int queue__add(struct queue *q, const struct raw *raw, uint64_t time_ns)
{
	struct queued e = { .raw = *raw };

	if (q->end - q->first == q->cap && queue_grow(q) != 0)
		return -ENOMEM;
	if (raw->brief && queue_copy(q, &e) != 0)
		return -ENOMEM;
	if (raw->round) /* it has no time; 0 would sort it first */
		time_ns = q->newest_ns;
	if (timeorder__add(&q->order, (struct timeorder_entry){ time_ns, q->end }) != 0) {
		block__put(&q->blocks, e.raw_block);
		return -ENOMEM;
	}
	q->sz += raw->sz;
	if (time_ns > q->newest_ns)
		q->newest_ns = time_ns;
	*queue_entry(q, q->end++) = e;
	if (q->sz > QUEUE_SZ_MAX)
		queue_relieve(q);
	return 0;
}

uint64_t queue__newest(const struct queue *q)
{
	return q->newest_ns;
}

uint64_t queue__oldest(const struct queue *q)
{
	uint64_t oldest = 0;

	for (size_t i = q->order.at; i < q->order.cnt; i++) {
		uint64_t time_ns = q->order.v[i].time_ns;

		if (time_ns && (!oldest || time_ns < oldest))
			oldest = time_ns;
	}
	return oldest;
}

uint64_t queue__off(const struct queue *q)
{
	return q->first < q->end ? queue_entry(q, q->first)->raw.off : UINT64_MAX;
}

size_t queue__sz(const struct queue *q)
{
	return q->sz;
}

uint64_t *queue__chain(struct queue *q, struct queued *e, size_t cnt)
{
	uint64_t *chain = blocks__take(&q->blocks, cnt * sizeof(*chain), &e->chain_block);

	e->chain = chain;
	e->chain_cnt = chain ? cnt : 0;
	return chain;
}
