/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What earlier walks found. Most callers in a stack are those of the sample before: where a walk
 * comes to a frame that is remembered, with the same registers, and all words of the stack that
 * lead from there to the root are what they were, the rest of it is the same, too, and is copied.
 * Nothing is guessed: all that the rest depends on is compared. (Bytehound and memray do the like
 * in the process itself, with return addresses.)
 */
#ifndef UNWIND_SUFFIXCACHE_H
#define UNWIND_SUFFIXCACHE_H

#include "event/trace.h"
#include "process/process.h"

struct fastwalk_slot;

/* Where a frame's pc and frame pointer were read: in the snapshot, or somewhere else. */
struct suffix_note {
	const uint8_t *pc_from, *fp_from;
	uint64_t fp;
};

/* A caller: its registers, and the words of the stack that they are, as the caller's of the frame
 * before it. These lie between the stack pointers of both; the first one that is remembered has
 * none. */
struct suffix_frame {
	struct frame frame;
	uint64_t fp;
	uint64_t pc_at, fp_at; /* addresses; the same where the frame pointer was not saved */
	uint64_t fp_word;      /* what is at fp_at */
};

#define SUFFIX_FRAMES 120 /* up to the root; a size at odds with the cache's sets */

/* Of the stacks of one process that end in one place. */
struct suffix_stack {
	uint64_t maps, place; /* struct process, .version; 0: nobody's */
	uint32_t first;	      /* of the frames; SUFFIX_FRAMES: there are none */
	uint32_t passed_cnt;  /* walks that all were of use to, or all but the first */
	struct suffix_frame frames[SUFFIX_FRAMES]; /* the last one is the root */
};

#define SUFFIX_BITS  6 /* as many as stay in the second-level cache */
#define SUFFIX_PLACE 16

struct suffix_cache {
	struct suffix_stack stacks[1 << SUFFIX_BITS];
};

/* What there is about stacks with their stack pointer about there. NULL: nothing, and this one is
 * not to be remembered: the next one is. */
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

/* The stack pointer from which on it may be of use. */
static inline uint64_t suffix_stack__joint(const struct suffix_stack *s)
{
	return s->first < SUFFIX_FRAMES ? s->frames[s->first].frame.sp : UINT64_MAX;
}

#define SUFFIX_CLOSE 8	/* frames; fewer lie close together */
#define SUFFIX_MANY  24 /* what all lanes ask for is to stay in the first-level cache */

/* Whether it is worth while to ask for the words that will be compared. */
static inline bool suffix_stack__is_far(const struct suffix_stack *s)
{
	uint32_t cnt = SUFFIX_FRAMES - s->first;

	return cnt >= SUFFIX_CLOSE && cnt <= SUFFIX_MANY;
}

/* Asks for the words of the lane's stack that will be compared with what is .known of it: they are
 * far apart, and nobody has read them. */
void suffix_cache__prefetch(const struct fastwalk_slot *);

/* At the lane's next frame: true when all from there on is remembered, and in the trace now. Else
 * the lane's .joint is where to ask again. */
bool suffix_cache__rest(struct fastwalk_slot *);

#define SUFFIX_KEEP_EVERY 4
#define SUFFIX_NEAR	  2 /* frames from the leaf on */

/*
 * Whether a walk that came to the frame `met`, its `fresh`th, may go without being remembered: all
 * but the first one that are remembered were of use, or all of them and there is hardly another one
 * to add, and another in its place would rarely be. Some are all the same: counts those that ask.
 */
static inline bool suffix_stack__may_pass(struct suffix_stack *s, size_t met, size_t fresh)
{
	bool hardly_more = met == s->first && fresh <= SUFFIX_NEAR;

	return (met == s->first + 1 || hardly_more) && ++s->passed_cnt % SUFFIX_KEEP_EVERY;
}

/* Remembers a walk that has come to the root. */
void suffix_cache__keep(struct fastwalk_slot *);

#endif
