/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What earlier walks found. Most callers in a stack are those of the sample before: where a walk
 * comes to a frame that is remembered, with the same registers, and all words of the stack that
 * lead from there to the root are what they were, the rest of it is the same, too, and is copied.
 * Nothing is guessed: all that the rest depends on is compared. (Bytehound and memray do the like
 * in the process itself, with return addresses.)
 */
#ifndef UNWIND_RECALL_H
#define UNWIND_RECALL_H

#include "event/trace.h"
#include "process/process.h"

struct flatwalk_lane;

/* Where a frame's pc and frame pointer were read: in the snapshot, or somewhere else. */
struct recall_note {
	const uint8_t *pc_from, *fp_from;
	uint64_t fp;
};

/* A caller: its registers, and the words of the stack that they are, as the caller's of the frame
 * before it. These lie between the stack pointers of both; the first one that is remembered has
 * none. */
struct recall_frame {
	struct frame frame;
	uint64_t fp;
	uint64_t pc_at, fp_at; /* addresses; the same where the frame pointer was not saved */
	uint64_t fp_word;      /* what is at fp_at */
};

#define RECALL_FRAMES 120 /* up to the root; a size at odds with the cache's sets */

/* Of the stacks of one process that end in one place. */
struct recall_stack {
	uint64_t maps, place; /* struct process, .version; 0: nobody's */
	uint32_t first;	      /* of the frames; RECALL_FRAMES: there are none */
	uint32_t passed_cnt;  /* walks that all were of use to, or all but the first */
	struct recall_frame frames[RECALL_FRAMES]; /* the last one is the root */
};

#define RECALL_BITS  6 /* as many as stay in the second-level cache */
#define RECALL_PLACE 16

struct recall {
	struct recall_stack stacks[1 << RECALL_BITS];
};

/* What there is about stacks with their stack pointer about there. NULL: nothing, and this one is
 * not to be remembered: the next one is. */
static inline struct recall_stack *recall__stack(struct recall *r, const struct process *p,
						 uint64_t sp)
{
	uint64_t place = sp >> RECALL_PLACE;
	uint64_t hash = (p->version + (place << 20)) * 0x9e3779b97f4a7c15u;
	struct recall_stack *s = &r->stacks[hash >> (64 - RECALL_BITS)];

	if (s->maps == p->version && s->place == place)
		return p->version ? s : NULL;
	s->maps = p->version;
	s->place = place;
	s->first = RECALL_FRAMES;
	return NULL;
}

/* The stack pointer from which on it may be of use. */
static inline uint64_t recall_stack__joint(const struct recall_stack *s)
{
	return s->first < RECALL_FRAMES ? s->frames[s->first].frame.sp : UINT64_MAX;
}

#define RECALL_CLOSE 8	/* frames; fewer lie close together */
#define RECALL_MANY  24 /* what all lanes ask for is to stay in the first-level cache */

/* Whether it is worth while to ask for the words that will be compared. */
static inline bool recall_stack__is_far(const struct recall_stack *s)
{
	uint32_t cnt = RECALL_FRAMES - s->first;

	return cnt >= RECALL_CLOSE && cnt <= RECALL_MANY;
}

/* Asks for the words of the lane's stack that will be compared with what is .known of it: they are
 * far apart, and nobody has read them. */
void recall__prefetch(const struct flatwalk_lane *);

/* At the lane's next frame: true when all from there on is remembered, and in the trace now. Else
 * the lane's .joint is where to ask again. */
bool recall__rest(struct flatwalk_lane *);

#define RECALL_KEEP_EVERY 4
#define RECALL_NEAR	  2 /* frames from the leaf on */

/*
 * Whether a walk that came to the frame `met`, its `fresh`th, may go without being remembered: all
 * but the first one that are remembered were of use, or all of them and there is hardly another one
 * to add, and another in its place would rarely be. Some are all the same: counts those that ask.
 */
static inline bool recall_stack__may_pass(struct recall_stack *s, size_t met, size_t fresh)
{
	bool hardly_more = met == s->first && fresh <= RECALL_NEAR;

	return (met == s->first + 1 || hardly_more) && ++s->passed_cnt % RECALL_KEEP_EVERY;
}

/* Remembers a walk that has come to the root. */
void recall__keep(struct flatwalk_lane *);

#endif
