// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/chainjoin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/buf.h"
#include "base/hash.h"

struct chainjoin_thread;

/* A pending sample. */
struct chainjoin_held {
	struct chainjoin_thread *thread;
	struct chainjoin_held *prev, *next;	/* the list of all pending samples, in order */
	struct chainjoin_held *before, *behind; /* the list of the thread */
	uint64_t cookie;
	struct item item;
	uint64_t kernel[]; /* the kernel part of its chain */
};

/* A thread with pending samples. */
struct chainjoin_thread {
	uint32_t tid;
	struct chainjoin_held *first;
	UT_hash_handle hh;
};

struct chain_join {
	struct chain_join_options options;
	struct chainjoin_thread *threads;
	struct chainjoin_held *all;
	size_t cnt;
	struct buf
		out; /* samples to attach to the current record, in the layout of struct queued */
	size_t out_cnt;
	uint64_t chain[2 * ITEM_CHAIN_MAX + 2]; /* chain of the sample being emitted */
};

struct chain_join *chain_join__new(const struct chain_join_options *o)
{
	struct chain_join *d = calloc(1, sizeof(*d));

	if (d)
		d->options = *o;
	return d;
}

/* ---- pending samples ---- */

static struct chainjoin_thread *thread__find(struct chain_join *d, uint32_t tid)
{
	struct chainjoin_thread *t;

	HASH_FIND(hh, d->threads, &tid, sizeof(tid), t);
	return t;
}

static struct chainjoin_thread *thread__get(struct chain_join *d, uint32_t tid)
{
	struct chainjoin_thread *t = thread__find(d, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	HASH_ADD(hh, d->threads, tid, sizeof(t->tid), t);
	if (HASH_ADDED(t))
		return t;
	free(t);
	return NULL;
}

static struct chainjoin_held *held__new(struct chain_join *d, const struct item *item,
					size_t kernel_cnt)
{
	struct chainjoin_held *h = malloc(sizeof(*h) + kernel_cnt * sizeof(*h->kernel));

	if (!h)
		return NULL;
	h->thread = thread__get(d, item->record.tid);
	if (!h->thread) {
		free(h);
		return NULL;
	}
	h->item = *item;
	memcpy(h->kernel, item->sample.chain, kernel_cnt * sizeof(*h->kernel));
	h->item.sample.chain_cnt = kernel_cnt;
	DL_APPEND(d->all, h);
	DL_APPEND2(h->thread->first, h, before, behind);
	d->cnt++;
	return h;
}

static void held__free(struct chain_join *d, struct chainjoin_held *h)
{
	struct chainjoin_thread *t = h->thread;

	DL_DELETE(d->all, h);
	DL_DELETE2(t->first, h, before, behind);
	d->cnt--;
	free(h);
	if (t->first)
		return;
	HASH_DEL(d->threads, t);
	free(t);
}

void chain_join__free(struct chain_join *d)
{
	if (!d)
		return;
	while (d->all)
		held__free(d, d->all);
	buf__free(&d->out);
	free(d);
}

/* ---- emitting ---- */

/* Stores the user part of a lost chain: the sampled address, if it is in user space. Returns the
 * number of entries. */
static size_t chainjoin_put_place(uint64_t *to, const struct item_sample *s)
{
	if (s->kernel || !s->ip)
		return 0;
	to[0] = CONTEXT_USER;
	to[1] = s->ip;
	return 2;
}

static size_t chainjoin_put_chain(uint64_t *to, const struct item_chain *c)
{
	size_t marker = c->cnt && c->entries[0] == CONTEXT_USER ? 0 : 1;

	to[0] = CONTEXT_USER;
	memcpy(to + marker, c->entries, c->cnt * sizeof(*to));
	return marker + c->cnt;
}

static void chainjoin_keep_for_emit(struct chain_join *d, const struct item *item)
{
	buf__append(&d->out, item, sizeof(*item));
	buf__append(&d->out, item->sample.chain, item->sample.chain_cnt * sizeof(uint64_t));
	d->out_cnt++;
}

/* Emits and frees a pending sample. `user` is NULL if its chain was lost. */
static void chainjoin_hand_out(struct chain_join *d, struct chainjoin_held *h,
			       const struct item_chain *user)
{
	struct item_sample *s = &h->item.sample;
	uint64_t *end = d->chain + s->chain_cnt;

	memcpy(d->chain, h->kernel, s->chain_cnt * sizeof(*d->chain));
	s->chain = d->chain;
	s->chain_cnt += user ? chainjoin_put_chain(end, user) : chainjoin_put_place(end, s);
	if (d->options.at_once)
		d->options.take(d->options.arg, &h->item);
	else
		chainjoin_keep_for_emit(d, &h->item);
	held__free(d, h);
}

/* Attaches the collected samples to the record. If out of memory, they are lost. */
static void chainjoin_put_into(struct chain_join *d, struct queued *q)
{
	size_t cnt = d->out.err ? 0 : d->out.sz / sizeof(uint64_t);
	uint64_t *to = cnt ? queue__chain(d->options.queue, q, cnt) : NULL;

	if (to) {
		memcpy(to, d->out.data, d->out.sz);
		q->joined_cnt = d->out_cnt;
	}
	d->out_cnt = 0;
	buf__reset(&d->out);
}

bool chain_join__hold(struct chain_join *d, const struct item *item, struct queued *q)
{
	const struct item_sample *s = &item->sample;
	size_t marker = item_sample__kernel_cnt(s);
	struct chainjoin_held *h;

	if (marker + 1 >= s->chain_cnt || s->chain[marker] != CONTEXT_USER_DEFERRED)
		return false;
	if (d->cnt >= DEFERRED_MAX)
		chainjoin_hand_out(d, d->all, NULL);
	h = held__new(d, item, marker);
	if (h)
		h->cookie = s->chain[marker + 1];
	q->held = h != NULL;
	chainjoin_put_into(d, q);
	return h != NULL;
}

void chain_join__join(struct chain_join *d, const struct item *item, struct queued *q)
{
	struct chainjoin_thread *t = thread__find(d, item->record.tid);

	for (struct chainjoin_held *h = t ? t->first : NULL, *next; h; h = next) {
		next = h->behind;
		chainjoin_hand_out(d, h, h->cookie == item->chain.cookie ? &item->chain : NULL);
	}
	q->held = true;
	chainjoin_put_into(d, q);
}

void chain_join__emit(struct chain_join *d, const struct queued *q)
{
	const uint64_t *at = q->chain;
	struct item item;

	for (size_t i = 0; i < q->joined_cnt; i++) {
		memcpy(&item, at, sizeof(item));
		at += sizeof(item) / sizeof(*at);
		item.sample.chain = at;
		at += item.sample.chain_cnt;
		d->options.take(d->options.arg, &item);
	}
}

void chain_join__rest(struct chain_join *d)
{
	d->options.at_once = true;
	while (d->all)
		chainjoin_hand_out(d, d->all, NULL);
}
