/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches the callers that earlier walks found. Most callers in a stack are those of the previous
 * sample. A walk copies the rest of a cached stack if it reaches a cached frame with the same
 * registers, and all stack words that lead from there to the root are unchanged. Nothing is
 * guessed: everything the rest depends on is compared. (Bytehound and memray do something similar
 * inside the traced process, with return addresses.)
 */
#ifndef UNWIND_SUFFIXCACHE_H
#define UNWIND_SUFFIXCACHE_H

#include "event/trace.h"
#include "process/process.h"

struct fastwalk_slot;

/* The source of a frame's pc and frame pointer: the snapshot or something else. */
struct suffix_note {
	const uint8_t *pc_from, *fp_from;
	uint64_t fp;
};

/* A cached caller: its registers, and the stack words from which the walk read them. The words lie
 * between the stack pointers of the previous frame and this one. The first cached frame has none.
 */
struct suffix_frame {
	struct frame frame;
	uint64_t fp;
	uint64_t pc_at, fp_at; /* addresses; equal if the frame pointer was not saved */
	uint64_t fp_word;      /* the word at fp_at */
};

#define SUFFIX_FRAMES \
	120 /* up to the root; a size that spreads the stacks over the CPU cache's sets */

/* The cached callers of one process's stacks in one range of stack addresses. */
struct suffix_stack {
	uint64_t maps, place; /* maps: process.version, 0 if unused; place: sp >> SUFFIX_PLACE */
	uint32_t first;	      /* index of the first valid frame; SUFFIX_FRAMES: none */
	uint32_t passed_cnt;  /* walks that could use all of these frames, or all but the first */
	struct suffix_frame frames[SUFFIX_FRAMES]; /* the last one is the root */
};

#define SUFFIX_BITS  6 /* as many stacks as stay in the second-level cache */
#define SUFFIX_PLACE 16

struct suffix_cache {
	struct suffix_stack stacks[1 << SUFFIX_BITS];
};

/* Returns the cached stack for this process and stack pointer. Returns NULL if there is none: the
 * entry is then reset for this process, and the next walk, not this one, is cached. */
static inline struct suffix_stack *suffix_cache__stack(struct suffix_cache *r,
						       const struct process *p, uint64_t sp)
{
	uint64_t place = sp >> SUFFIX_PLACE;
	uint64_t hash = (p->version + (place << 20)) * 0x9e3779b97f4a7c15u;
	struct suffix_stack *s = &r->stacks[hash >> (64 - SUFFIX_BITS)];

	if (s->maps == p->version && s->place == place)
		return p->version ? s : NULL;
	s->maps = p->version;
	s->place = place;
	s->first = SUFFIX_FRAMES;
	return NULL;
}

/* Returns the lowest stack pointer at which a cached frame can match. */
static inline uint64_t suffix_stack__first_sp(const struct suffix_stack *s)
{
	return s->first < SUFFIX_FRAMES ? s->frames[s->first].frame.sp : UINT64_MAX;
}

#define SUFFIX_CLOSE 8	/* frames; fewer lie close together and need no prefetch */
#define SUFFIX_MANY  24 /* frames; the prefetches of all slots must fit the first-level cache */

/* Returns true if prefetching the words to compare pays off. */
static inline bool suffix_stack__is_far(const struct suffix_stack *s)
{
	uint32_t cnt = SUFFIX_FRAMES - s->first;

	return cnt >= SUFFIX_CLOSE && cnt <= SUFFIX_MANY;
}

/* Prefetches the words of the slot's snapshot that will be compared with .cached_stack: they are
 * far apart and not in the CPU cache yet. */
void suffix_cache__prefetch(const struct fastwalk_slot *);

/* Copies the cached frames from the slot's next frame to the root into the trace and returns true,
 * if all of them match. Otherwise returns false and sets .suffix_sp, where to call it again. */
bool suffix_cache__copy_rest(struct fastwalk_slot *);

#define SUFFIX_KEEP_EVERY 4
#define SUFFIX_NEAR	  2 /* frames, counted from the leaf */

/*
 * Returns true if a walk need not be cached. The walk used the cached frames from index `used_idx`
 * on, after `fresh` frames of its own. It qualifies if it used all but the first cached frame, or
 * all of them and has hardly a frame to add: such a frame would rarely match again. Every
 * SUFFIX_KEEP_EVERYth walk that qualifies is cached all the same.
 */
static inline bool suffix_stack__may_pass(struct suffix_stack *s, size_t used_idx, size_t fresh)
{
	bool hardly_more = used_idx == s->first && fresh <= SUFFIX_NEAR;

	return (used_idx == s->first + 1 || hardly_more) && ++s->passed_cnt % SUFFIX_KEEP_EVERY;
}

/* Caches the frames of a walk that reached the root. */
void suffix_cache__keep(struct fastwalk_slot *);

#endif
