// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/threadslot.h"

#include <string.h>

bool thread_slot__wants_more(const struct thread_slot *s)
{
	return s->voter_cnt < THREAD_SLOT_VOTERS;
}

#define CHUNK 512 /* bytes: what is around a descriptor need not all be mapped */

static void vote_in_chunk(struct thread_slot *s, struct remote *r, const uint64_t who[2], int from)
{
	uint64_t words[CHUNK / 8];
	struct remote chunk = { .mem = r->mem, .left = r->left };
	bool there = remote__read(&chunk, who[0] + (uint64_t)(int64_t)from, words, sizeof(words));

	r->left = chunk.left;
	for (size_t i = 0; there && i < CHUNK / 8; i++)
		s->votes[(size_t)(from + THREAD_SLOT_WINDOW) / 8 + i] += words[i] == who[1];
}

void thread_slot__vote(struct thread_slot *s, struct remote *r, uint64_t self, uint64_t state)
{
	s->voter_cnt++;
	if (!self || self % 8 || r->err)
		return;
	for (int from = -THREAD_SLOT_WINDOW; from < THREAD_SLOT_WINDOW; from += CHUNK)
		vote_in_chunk(s, r, (const uint64_t[]){ self, state }, from);
}

/* Returns the best place below `end`, and the highest of several. */
static size_t best_below(const struct thread_slot *s, size_t end)
{
	size_t best = 0;

	for (size_t i = 1; i < end; i++)
		if (s->votes[i] >= s->votes[best])
			best = i;
	return best;
}

static int64_t offset_of(size_t word)
{
	return ((int64_t)word - THREAD_SLOT_WORDS / 2) * 8;
}

/*
 * The highest place wins if several have as many votes. Slots of pthread_setspecific() are above
 * the thread pointer and stay as long as the thread does. Thread-local variables are below: one of
 * them may be empty while the thread waits.
 */
bool thread_slot__winners(const struct thread_slot *s, int64_t off[2])
{
	size_t first = best_below(s, THREAD_SLOT_WORDS), second = best_below(s, first);

	off[0] = off[1] = offset_of(first);
	if (first && s->votes[second] == s->votes[first])
		off[1] = offset_of(second);
	return s->votes[first] > 0;
}
