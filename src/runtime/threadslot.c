// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/threadslot.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

bool thread_slot__wants_more(const struct thread_slot *s)
{
	return s->voter_cnt < THREAD_SLOT_VOTERS;
}

#define CHUNK 512 /* bytes: what is around a descriptor need not all be mapped */

/*
 * glibc: the first word at the thread pointer is the address of the dtv, which has two words for
 * each module: the address of its thread-local variables, and what to free. Those of the first
 * module are right above the thread pointer. Before them the dtv has its length and a generation
 * (sysdeps/generic/dl-dtv.h, elf/dl-tls.c).
 */
#define FIRST_TLS_MAX 65536 /* bytes from the thread pointer: its alignment */
#define COUNTER_MAX   (1u << 20)

struct dtv {
	uint64_t length, unused, generation, unused_too, first, to_free;
};

static bool threadslot_is_thread_pointer(struct remote *r, uint64_t tp, uint64_t addr)
{
	struct remote part = { .mem = r->mem, .left = r->left };
	struct dtv dtv;
	bool there =
		addr && addr % 8 == 0 &&
		remote__read(&part, addr - offsetof(struct dtv, generation), &dtv, sizeof(dtv));

	r->left = part.left;
	return there && dtv.length && dtv.length < COUNTER_MAX && dtv.generation < COUNTER_MAX &&
	       dtv.first > tp && dtv.first - tp <= FIRST_TLS_MAX && !dtv.to_free;
}

/* Returns the thread pointer in these bytes from `at` on, or 0. */
static uint64_t thread_pointer_in(struct remote *r, uint64_t at)
{
	uint64_t words[CHUNK / 8];

	if (!remote__read(r, at, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < CHUNK / 8; i += 2) /* it is aligned to 16 bytes */
		if (threadslot_is_thread_pointer(r, at + i * 8, words[i]))
			return at + i * 8;
	return 0;
}

bool thread_slot__self_off(struct remote *r, const struct machine *m, uint64_t self, int64_t *off)
{
	struct remote chunks = { .mem = r->mem, .left = r->left };
	uint64_t tp = m->descriptor_max ? 0 : self;

	if (!tp && self % 16)
		return false;
	for (uint64_t at = 0; at < m->descriptor_max && !tp && !chunks.err; at += CHUNK)
		tp = thread_pointer_in(&chunks, self + at);
	r->left = chunks.left;
	*off = (int64_t)(self - tp);
	return tp;
}

static void threadslot_vote_in_chunk(struct thread_slot *s, struct remote *r, const uint64_t who[2],
				     int from)
{
	uint64_t words[CHUNK / 8];
	struct remote chunk = { .mem = r->mem, .left = r->left };
	bool there = remote__read(&chunk, who[0] + (uint64_t)(int64_t)from, words, sizeof(words));

	r->left = chunk.left;
	for (size_t i = 0; there && i < CHUNK / 8; i++)
		s->votes[(size_t)(from + THREAD_SLOT_WINDOW) / 8 + i] += words[i] == who[1];
}

static void threadslot_vote_in_array(uint8_t votes[THREAD_SLOT_KEYS], struct remote *r,
				     uint64_t array, uint64_t state)
{
	uint64_t words[THREAD_SLOT_KEYS];
	struct remote part = { .mem = r->mem, .left = r->left };
	bool there = remote__read(&part, array, words, sizeof(words));

	r->left = part.left;
	for (size_t i = 0; there && i < THREAD_SLOT_KEYS; i++)
		votes[i] += words[i] == state;
}

#define KEY_VOTERS 4 /* the reads are many, and the place is the same in all threads */

/* Word of a descriptor, with glibc and musl. Thread-local variables may lie behind the DTV. */
#define DTV 1

/* A pointer to the descriptor itself is none to an array: what lies there depends on the thread. */
static void thread_slot__vote_by_key(struct thread_slot *s, struct remote *r, const uint64_t who[2])
{
	uint64_t words[THREAD_SLOT_POINTERS];
	struct remote part = { .mem = r->mem, .left = r->left };

	if (s->voter_cnt > KEY_VOTERS || !remote__read(&part, who[0], words, sizeof(words)))
		return;
	for (size_t i = 0; i < THREAD_SLOT_POINTERS; i++)
		if (i != DTV && words[i] && words[i] % 8 == 0 && words[i] != who[0])
			threadslot_vote_in_array(s->key_votes + i * THREAD_SLOT_KEYS, r, words[i],
						 who[1]);
}

void thread_slot__vote(struct thread_slot *s, struct remote *r, uint64_t self, uint64_t state)
{
	s->voter_cnt++;
	if (!self || self % 8 || r->err)
		return;
	s->self = self;
	thread_slot__vote_by_key(s, r, (const uint64_t[]){ self, state });
	for (int from = -THREAD_SLOT_WINDOW; from < THREAD_SLOT_WINDOW; from += CHUNK)
		threadslot_vote_in_chunk(s, r, (const uint64_t[]){ self, state }, from);
}

/* Returns the best place below `end`, and the highest of several. */
static size_t threadslot_best_below(const struct thread_slot *s, size_t end)
{
	size_t best = 0;

	for (size_t i = 1; i < end; i++)
		if (s->votes[i] >= s->votes[best])
			best = i;
	return best;
}

static int64_t threadslot_offset_of(size_t word)
{
	return ((int64_t)word - THREAD_SLOT_WORDS / 2) * 8;
}

/*
 * The highest place wins if several have as many votes. Slots of pthread_setspecific() are above
 * the thread pointer and stay as long as the thread does. Thread-local variables are below: one of
 * them may be empty while the thread waits.
 */
static bool thread_slot__find_words(const struct thread_slot *s, int64_t off[2])
{
	size_t first = threadslot_best_below(s, THREAD_SLOT_WORDS),
	       second = threadslot_best_below(s, first);

	off[0] = off[1] = threadslot_offset_of(first);
	if (first && s->votes[second] == s->votes[first])
		off[1] = threadslot_offset_of(second);
	return s->votes[first] > 0;
}

/* With glibc there is no such array near the beginning of a descriptor. */
static bool thread_slot__find_key(const struct thread_slot *s, int64_t off[2], uint32_t *key_off)
{
	size_t best = 0;

	for (size_t i = 1; i < THREAD_SLOT_POINTERS * THREAD_SLOT_KEYS; i++)
		if (s->key_votes[i] > s->key_votes[best])
			best = i;
	off[0] = off[1] = (int64_t)(best / THREAD_SLOT_KEYS * 8);
	*key_off = (uint32_t)(best % THREAD_SLOT_KEYS * 8 + 1);
	return s->key_votes[best];
}

int thread_slot__place(const struct thread_slot *s, struct remote *r, struct capture_runtime *c)
{
	int64_t off[2], self_off;
	uint32_t key_off = 0;

	if (!thread_slot__find_key(s, off, &key_off)) {
		key_off = 0;
		if (!thread_slot__find_words(s, off))
			return -EAGAIN;
	}
	if (!thread_slot__self_off(r, &machine_native, s->self, &self_off))
		return -ENOTSUP;
	c->self_off = self_off;
	c->state_off[0] = self_off + off[0];
	c->state_off[1] = self_off + off[1];
	c->key_off = key_off;
	return 0;
}
