/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shadow stack of a thread: its open calls, recorded while the thread is single-stepped. It
 * knows return addresses because it has seen the calls, and needs neither call-frame information
 * nor the stack's bytes.
 *
 * A chain is a list of open calls. It consists of segments, one for each stack that it is on: a
 * signal handler on an alternate stack begins a segment on top of the interrupted one. A thread
 * that switches to another stack on its own (swapcontext) switches to another chain.
 */
#ifndef TOOLS_SHADOW_STACK_H
#define TOOLS_SHADOW_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "shadow_code.h"

#define SHADOW_SEGMENT_MAX 16
#define SHADOW_SLACK	   512 /* bytes above the highest stack pointer that a jump may reach */

enum shadow_kind {
	SHADOW_CALL,
	SHADOW_RESTORER,    /* a signal handler's return address */
	SHADOW_INTERRUPTED, /* the interrupted pc, which is not a return address */
	SHADOW_PLANTED,	    /* a return address that no call has pushed: the start of a function */
};

struct shadow_entry {
	uint64_t pc;   /* return address, or interrupted pc */
	uint64_t slot; /* address of its word */
	enum shadow_kind kind;
};

struct shadow_segment {
	size_t first;  /* its outermost entry */
	uint64_t base; /* highest stack pointer seen on it */
	uint64_t sp;   /* stack pointer when it was left */
};

struct shadow_chain {
	struct shadow_entry *entries; /* outermost first */
	size_t cnt, room;
	struct shadow_segment segments[SHADOW_SEGMENT_MAX]; /* the last is the current one */
	size_t segment_cnt;
};

struct shadow {
	struct shadow_chain *chain;
	struct shadow_chain **aside; /* chains on stacks that the thread has left */
	size_t aside_cnt;
	/* A return address that an instruction has popped into a register, like vfork(). */
	struct shadow_entry held;
	bool holds;
	/* The stack pointer was loaded; the jump to its code follows. */
	bool jumping;
	bool switching; /* and it is on another stack */
};

static inline struct shadow_segment *shadow_chain__segment(struct shadow_chain *c)
{
	return &c->segments[c->segment_cnt - 1];
}

static inline struct shadow_chain *shadow_chain__new(uint64_t sp)
{
	struct shadow_chain *c = calloc(1, sizeof(*c));

	must(c);
	c->segments[c->segment_cnt++] = (struct shadow_segment){ .base = sp, .sp = sp };
	return c;
}

static inline struct shadow_chain *shadow_chain__copy(const struct shadow_chain *from)
{
	struct shadow_chain *c = malloc(sizeof(*c));

	must(c);
	*c = *from;
	c->room = from->cnt;
	c->entries = malloc((from->cnt + 1) * sizeof(*c->entries));
	must(c->entries);
	if (from->cnt)
		memcpy(c->entries, from->entries, from->cnt * sizeof(*c->entries));
	return c;
}

static inline void shadow_chain__free(struct shadow_chain *c)
{
	free(c->entries);
	free(c);
}

static inline void shadow_chain__push(struct shadow_chain *c, struct shadow_entry e)
{
	if (c->cnt == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		c->entries = realloc(c->entries, c->room * sizeof(*c->entries));
		must(c->entries);
	}
	c->entries[c->cnt++] = e;
}

/* Drops the current segment's entries below sp. */
static inline void shadow_chain__drop(struct shadow_chain *c, uint64_t sp)
{
	struct shadow_segment *s = shadow_chain__segment(c);

	while (c->cnt > s->first && c->entries[c->cnt - 1].slot < sp)
		c->cnt--;
	s->base = s->base > sp ? s->base : sp;
}

static inline struct shadow *shadow__new(uint64_t sp)
{
	struct shadow *s = calloc(1, sizeof(*s));

	must(s);
	s->chain = shadow_chain__new(sp);
	return s;
}

/* Returns a copy for a child made by fork() or vfork(). */
static inline struct shadow *shadow__copy(const struct shadow *from)
{
	struct shadow *s = malloc(sizeof(*s));

	must(s);
	*s = *from;
	s->chain = shadow_chain__copy(from->chain);
	s->aside = calloc(from->aside_cnt + 1, sizeof(*s->aside));
	must(s->aside);
	for (size_t i = 0; i < from->aside_cnt; i++)
		s->aside[i] = shadow_chain__copy(from->aside[i]);
	return s;
}

static inline void shadow__free(struct shadow *s)
{
	for (size_t i = 0; i < s->aside_cnt; i++)
		shadow_chain__free(s->aside[i]);
	free(s->aside);
	shadow_chain__free(s->chain);
	free(s);
}

static inline void shadow__call(struct shadow *s, uint64_t pc, uint64_t slot)
{
	shadow_chain__push(s->chain, (struct shadow_entry){ pc, slot, SHADOW_CALL });
	s->holds = false;
}

static inline void shadow__plant(struct shadow *s, uint64_t pc, uint64_t slot)
{
	shadow_chain__push(s->chain, (struct shadow_entry){ pc, slot, SHADOW_PLANTED });
}

/* A signal frame that the kernel has put on the stack. */
struct shadow_signal {
	uint64_t restorer, slot; /* the handler's return address */
	uint64_t pc, pc_slot;	 /* interrupted pc */
	uint64_t sp;		 /* its stack pointer */
	bool other_stack;	 /* the handler runs on another stack than the interrupted code */
};

static inline void shadow__signal(struct shadow *s, const struct shadow_signal *signal)
{
	struct shadow_chain *c = s->chain;

	if (signal->other_stack) {
		must(c->segment_cnt < SHADOW_SEGMENT_MAX);
		shadow_chain__segment(c)->sp = signal->sp;
		c->segments[c->segment_cnt++] =
			(struct shadow_segment){ .first = c->cnt, .base = signal->pc_slot };
	}
	if (s->holds) /* it was in a register, which is in the signal's frame now */
		shadow_chain__push(c, s->held);
	s->holds = false;
	shadow_chain__push(
		c, (struct shadow_entry){ signal->pc, signal->pc_slot, SHADOW_INTERRUPTED });
	shadow_chain__push(
		c, (struct shadow_entry){ signal->restorer, signal->slot, SHADOW_RESTORER });
}

/* ---- loads of the stack pointer ---------------------------------------------------------------
 */

static inline bool shadow_segment__holds(const struct shadow_segment *s, uint64_t low, uint64_t sp)
{
	return sp >= low && sp <= s->base + SHADOW_SLACK;
}

/* Leaves a handler for the interrupted stack, or one below it. */
static inline bool shadow__leave_handler(struct shadow *s, uint64_t sp)
{
	struct shadow_chain *c = s->chain;

	for (size_t n = c->segment_cnt - 1; n > 0; n--) {
		struct shadow_segment *segment = &c->segments[n - 1];

		if (!shadow_segment__holds(segment, segment->sp, sp))
			continue;
		c->cnt = c->segments[n].first;
		c->segment_cnt = n;
		return true;
	}
	return false;
}

/* Returns the index of the inactive chain that was left nearest below sp, or .aside_cnt. */
static inline size_t shadow__find_aside(const struct shadow *s, uint64_t sp)
{
	size_t best = s->aside_cnt;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < s->aside_cnt; i++) {
		const struct shadow_segment *segment = shadow_chain__segment(s->aside[i]);

		if (shadow_segment__holds(segment, segment->sp, sp) && sp - segment->sp < least) {
			least = sp - segment->sp;
			best = i;
		}
	}
	return best;
}

/* Exchanges the chain with the inactive one on the stack that has sp. */
static inline bool shadow__resume(struct shadow *s, uint64_t sp)
{
	size_t i = shadow__find_aside(s, sp);
	struct shadow_chain *left = s->chain;

	if (i == s->aside_cnt)
		return false;
	s->chain = s->aside[i];
	s->aside[i] = left;
	return true;
}

static inline void shadow__begin_chain(struct shadow *s, uint64_t sp)
{
	s->aside = realloc(s->aside, (s->aside_cnt + 1) * sizeof(*s->aside));
	must(s->aside);
	s->aside[s->aside_cnt++] = s->chain;
	s->chain = shadow_chain__new(sp);
}

/*
 * The stack pointer was loaded from memory or a register, or by sigreturn. `near`: its old and its
 * new value are in one mapping. Returns true if the thread is on another chain now.
 */
static inline bool shadow__load(struct shadow *s, uint64_t old_sp, uint64_t sp, enum code_kind kind,
				bool near)
{
	struct shadow_segment *segment = shadow_chain__segment(s->chain);
	bool grows = sp < old_sp && near && kind == CODE_MOVE;
	bool unwinds = shadow_segment__holds(segment, old_sp, sp);

	segment->sp = old_sp;
	if (shadow__resume(s, sp))
		return true;
	if (grows || unwinds || shadow__leave_handler(s, sp))
		return false;
	shadow__begin_chain(s, sp);
	return true;
}

/* ---- after each instruction -------------------------------------------------------------------*/

/* Drops entries below the stack pointer; a popped return address is held. */
static inline void shadow__moved(struct shadow *s, uint64_t old_sp, uint64_t sp,
				 enum code_kind kind)
{
	struct shadow_chain *c = s->chain;
	const struct shadow_entry *top = c->cnt ? &c->entries[c->cnt - 1] : NULL;

	if (kind == CODE_RET || kind == CODE_JUMP || kind == CODE_CALL)
		s->holds = false;
	if (kind == CODE_POP && top && top->kind == SHADOW_CALL && top->slot == old_sp) {
		s->held = *top;
		s->holds = true;
	}
	shadow_chain__drop(c, sp);
}

/* The stack pointer is at the slot of the held return address, which contains `word`. */
static inline void shadow__put_back(struct shadow *s, uint64_t sp, uint64_t word)
{
	if (!s->holds || s->held.slot != sp || s->held.pc != word)
		return;
	shadow_chain__push(s->chain, s->held);
	s->holds = false;
}

#endif
