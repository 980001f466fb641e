// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/fastwalk.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "unwind/rulecache.h"
#include "unwind/suffixcache.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* per walk; an odd size, so that walks do not share sets of the CPU cache */
#define NOTES (TRACE_MAX + 29)

struct fastwalk {
	struct suffix_note (*notes)[NOTES]; /* for each walk in progress */
	struct cached_rule by_pointer;	    /* for all places in code without a file */
	struct rule_cache rules;
	struct suffix_cache recall;
};

#define PAGE 4096

/* Populates all memory: page faults would take a third of the time of the first stacks. */
static void *fastwalk_populated(size_t sz)
{
	void *at = aligned_alloc(PAGE, (sz + PAGE - 1) / PAGE * PAGE);

	if (!at)
		return NULL;
	madvise(at, sz, MADV_POPULATE_WRITE); /* since Linux 5.14 */
	return memset(at, 0, sz);
}

struct fastwalk *fastwalk__new(struct table_cache *cache, struct jobs *jobs)
{
	struct fastwalk *w = fastwalk_populated(sizeof(*w));

	if (!w)
		return NULL;
	w->by_pointer = (struct cached_rule){ .key = 1, .rule = { .how = PACKED_POINTER } };
	w->rules.tables = table_store__new(cache, jobs);
	w->notes = calloc(FASTWALK_SLOTS, sizeof(*w->notes));
	if (w->rules.tables && w->notes)
		return w;
	fastwalk__free(w);
	return NULL;
}

void fastwalk__free(struct fastwalk *w)
{
	if (!w)
		return;
	table_store__free(w->rules.tables);
	free(w->notes);
	free(w);
}

struct table_store *fastwalk__tables(struct fastwalk *w)
{
	return w->rules.tables;
}

/* ---- rules --------------------------------------------------------------------------------------
 */

static const struct packed_rule elsewhere = { .how = PACKED_ELSEWHERE };

static inline uint64_t fastwalk_slot__place(const struct fastwalk_slot *l)
{
	return l->pc - (l->flags & FRAME_CALLER ? 1 : 0);
}

__attribute__((noinline)) static const struct packed_rule *fastwalk_look_up(
	struct fastwalk *w, const struct fastwalk_slot *l)
{
	uint64_t off = fastwalk_slot__place(l) - l->map->start + l->map->pgoff;
	const struct cached_rule *c = rule_cache__load(&w->rules, l->map->file, off, l->key);

	return c ? &c->rule : &elsewhere;
}

/* Enters the mapping with the place. Returns false if it has no file. */
static inline bool fastwalk_enter(struct fastwalk *w, struct fastwalk_slot *l, uint64_t place)
{
	const struct mapping *m = process__find(l->process, place);
	const struct table_slot *slot =
		m && m->file ? table_store__of(w->rules.tables, m->file) : NULL;

	l->map = m;
	l->sz = 0;
	if (!slot)
		return false;
	l->start = m->start;
	l->sz = m->end - m->start;
	l->base = rule_key(slot) + m->pgoff - m->start;
	return true;
}

/* ---- from a frame to its caller -----------------------------------------------------------------
 */

static uint64_t fastwalk_words(int16_t cnt)
{
	return (uint64_t)(int64_t)cnt * 8;
}

/* Returns false if the snapshot lacks the bytes, or there is no rule. */
static bool fastwalk_find_cfa(const struct fastwalk_slot *l, struct packed_rule r, uint64_t *cfa)
{
	switch ((enum packed_how)r.how) {
	case PACKED_SP: *cfa = l->sp + fastwalk_words(r.cfa); return true;
	case PACKED_FP: *cfa = l->fp + fastwalk_words(r.cfa); return true;
	case PACKED_AT_FP: return snapshot__word(l->snapshot, l->fp + fastwalk_words(r.cfa), cfa);
	case PACKED_PLT: *cfa = l->sp + 8 + ((int)(l->pc & 15) >= r.cfa ? 8 : 0); return true;
	case PACKED_NONE:
	case PACKED_ROOT:
	case PACKED_ELSEWHERE:
	case PACKED_SIGNAL:
	case PACKED_SWITCH:
	case PACKED_POINTER: break;
	}
	return false;
}

/*
 * A slot below the stack pointer that is not in the snapshot belongs to a register that has been
 * popped already (CFI of epilogues does not always say so): the register has the caller's value.
 */
static bool fastwalk_find_fp(const struct fastwalk_slot *l, struct packed_rule r, uint64_t cfa,
			     uint64_t *fp)
{
	uint64_t at = r.fp == PACKED_FP_AT_SELF ? l->fp : cfa + fastwalk_words(r.fp);

	*fp = l->fp;
	return r.fp == PACKED_FP_KEPT || snapshot__word(l->snapshot, at, fp) ||
	       (r.fp != PACKED_FP_AT_SELF && at < l->sp);
}

static inline bool fastwalk_finish(struct fastwalk_slot *l, enum fastwalk_end how)
{
	l->end = how;
	return false;
}

static bool fastwalk_find_pc(const struct fastwalk_slot *l, struct packed_rule r, uint64_t cfa,
			     uint64_t *pc)
{
	if (r.ra == PACKED_RA_LINKED) {
		*pc = l->flags & FRAME_CALLER ? 0 : l->link;
		return *pc != 0;
	}
	return snapshot__word(l->snapshot, cfa + fastwalk_words(r.ra), pc);
}

/* Sets the registers of the next frame. */
static inline void fastwalk_stand_at(struct fastwalk_slot *l, uint64_t pc, uint64_t sp, uint64_t fp)
{
	l->pc = pc;
	l->sp = sp;
	l->fp = fp;
	l->pc_from = (const uint8_t *)&l->pc;
	l->fp_from = (const uint8_t *)&l->fp;
}

static bool fastwalk_end_here(struct fastwalk_slot *l, enum fastwalk_end how)
{
	l->frame++;
	return fastwalk_finish(l, how);
}

/* Continues from a signal trampoline with the interrupted code, if that is on the same stack. */
static bool fastwalk_leave_signal(struct fastwalk_slot *l, struct packed_rule r)
{
	const struct snapshot *s = l->snapshot;
	uint64_t at = l->sp, sp, fp, link, pc;

	if ((r.flags & PACKED_CALLERS_ONLY && !(l->flags & FRAME_CALLER)) ||
	    !snapshot__word(s, at + fastwalk_words(r.cfa), &sp) ||
	    !snapshot__word(s, at + fastwalk_words(r.fp), &fp) ||
	    !snapshot__word(s, at + fastwalk_words(r.fp) + 8, &link) ||
	    !snapshot__word(s, at + fastwalk_words(r.ra), &pc))
		return false;
	if (sp <= at || sp - at >= s->addr + s->sz - at)
		return false;
	l->frame->flags = FRAME_SIGNAL;
	l->flags = 0;
	l->source = FRAME_BY_CFI;
	l->link = link;
	fastwalk_stand_at(l, pc, sp, fp);
	return true;
}

/* Returns whether the return address is past the end of a truncated snapshot, like slowwalk.c. */
static bool fastwalk_is_cut_off(const struct fastwalk_slot *l, struct packed_rule r, uint64_t cfa)
{
	const struct snapshot *s = l->snapshot;

	return r.ra != PACKED_RA_LINKED && !s->holes && cfa % 8 == 0 && cfa < l->top &&
	       cfa > s->addr + s->sz;
}

/* Returns whether the walk makes no progress; only a leaf may have a frame without stack bytes. */
static inline bool fastwalk_stays(const struct fastwalk_slot *l, uint64_t cfa)
{
	return unlikely(cfa <= l->sp) && (l->flags & FRAME_CALLER || cfa < l->sp);
}

/* Finds the caller by any rule, in one step. */
static bool fastwalk_find_caller(struct fastwalk_slot *l, struct packed_rule r)
{
	uint64_t cfa, pc, fp;

	if (!fastwalk_find_cfa(l, r, &cfa))
		return false;
	if (fastwalk_is_cut_off(l, r, cfa))
		return fastwalk_end_here(l, FASTWALK_CUT);
	if (!fastwalk_find_pc(l, r, cfa, &pc) || !fastwalk_find_fp(l, r, cfa, &fp))
		return false;
	if (fastwalk_stays(l, cfa))
		return false;
	l->flags = FRAME_CALLER;
	l->source = r.flags & PACKED_UNWINDING ? FRAME_BY_UNWINDING : FRAME_BY_CFI;
	fastwalk_stand_at(l, pc, cfa, fp);
	return true;
}

/* The plain case of no_cfi__follow_fp(). */
static bool fastwalk_follow_pointer(struct fastwalk_slot *l)
{
	const uint8_t *saved = snapshot__at(l->snapshot, l->fp, 16);
	uint64_t pc;

	if (!(l->flags & FRAME_CALLER) || l->fp < l->sp || l->fp % 8 || !saved)
		return fastwalk_finish(l, FASTWALK_NO_CFI);
	memcpy(&pc, saved + 8, sizeof(pc));
	pc &= l->code_bits;
	if (pc == 0 || !(mapping__holds(l->map, pc - 1) || process__find(l->process, pc - 1)))
		return fastwalk_finish(l, FASTWALK_NO_CFI);
	l->source = FRAME_BY_POINTER;
	l->sp = l->fp + 16;
	l->pc_from = saved + 8;
	l->fp_from = saved;
	return ++l->frame < l->past;
}

/* No call precedes a planted return address: the frame's place is the address itself. */
static bool fastwalk_end_at_root(struct fastwalk_slot *l, struct packed_rule r)
{
	if (r.flags & PACKED_CALLERS_ONLY) {
		if (!(l->flags & FRAME_CALLER))
			return fastwalk_finish(l, FASTWALK_NO_CFI);
		l->frame->flags = 0;
	}
	return fastwalk_end_here(l, FASTWALK_ROOT);
}

__attribute__((noinline)) static bool fastwalk_climb_slowly(struct fastwalk_slot *l,
							    struct packed_rule r)
{
	if (r.how == PACKED_ROOT)
		return fastwalk_end_at_root(l, r);
	if (r.how == PACKED_SWITCH)
		return fastwalk_end_here(l, FASTWALK_SWITCH);
	if (r.how == PACKED_NONE)
		return fastwalk_finish(l, FASTWALK_NO_CFI);
	if (r.how == PACKED_POINTER)
		return fastwalk_follow_pointer(l);
	if (!(r.how == PACKED_SIGNAL ? fastwalk_leave_signal(l, r) : fastwalk_find_caller(l, r)))
		return false;
	return ++l->frame < l->past;
}

/*
 * A step has two halves. The first half of all walks runs before the second half of any, so that
 * each half prefetches the data of the next.
 */

/* Enters code without a file. */
static bool fastwalk_enter_anonymous(struct fastwalk *w, struct fastwalk_slot *l)
{
	if (!l->pointers || !l->map || l->map->kind != MAPPING_ANON || l->map->opening)
		return fastwalk_finish(l, FASTWALK_NO_CFI);
	l->cached = &w->by_pointer;
	l->key = l->cached->key;
	return true;
}

/* The return address is 0: there is no caller. */
static bool fastwalk_end_without(struct fastwalk_slot *l)
{
	*l->frame = (struct frame){ .sp = l->sp };
	return fastwalk_finish(l, FASTWALK_ROOT);
}

/* Moves to the next frame, if it was called, and finds the cache slot of its rule. */
static inline bool fastwalk_arrive(struct fastwalk *w, struct fastwalk_slot *l)
{
	const uint8_t *pc_from = l->pc_from, *fp_from = l->fp_from;
	struct suffix_note *note = l->note++;
	uint64_t pc, fp, place;

	memcpy(&pc, pc_from, sizeof(pc));
	memcpy(&fp, fp_from, sizeof(fp));
	note->pc_from = pc_from;
	note->fp_from = fp_from;
	note->fp = fp;
	pc &= l->code_bits;
	l->pc = pc;
	l->fp = fp;
	if (unlikely(pc == 0) && l->flags & FRAME_CALLER)
		return fastwalk_end_without(l);
	if (unlikely(l->sp >= l->suffix_sp) && suffix_cache__copy_rest(l))
		return fastwalk_finish(l, FASTWALK_ROOT);
	place = fastwalk_slot__place(l);
	if (place - l->start >= l->sz && unlikely(!fastwalk_enter(w, l, place)))
		return fastwalk_enter_anonymous(w, l);
	l->key = place + l->base;
	l->cached = rule_cache__place(&w->rules, l->key);
	__builtin_prefetch(l->cached);
	return true;
}

static inline void fastwalk_add_frame(const struct fastwalk_slot *l)
{
	struct frame *f = l->frame;

	f->pc = l->pc;
	f->sp = l->sp;
	f->map = l->map;
	f->flags = l->flags;
	f->source = l->source;
}

/*
 * Finds where the caller's registers are saved. Avoids unpredictable branches: a misprediction
 * costs more than the rest.
 */
static inline bool fastwalk_climb(struct fastwalk *w, struct fastwalk_slot *l)
{
	const struct cached_rule *c = l->cached;
	const struct packed_rule *r = likely(c->key == l->key) ? &c->rule : fastwalk_look_up(w, l);
	uint16_t head = packed_rule__head(r);
	bool kept = r->fp == PACKED_FP_KEPT;
	uint64_t cfa = (head == PACKED_FP ? l->fp : l->sp) + fastwalk_words(r->cfa);
	uint64_t pc_at = cfa + fastwalk_words(r->ra) - l->addr;
	uint64_t fp_at = cfa + fastwalk_words(kept ? r->ra : r->fp) - l->addr;

	fastwalk_add_frame(l);
	if (unlikely(head > PACKED_FP) || unlikely(pc_at >= l->words_end) ||
	    unlikely(fp_at >= l->words_end))
		return fastwalk_climb_slowly(l, *r);
	if (fastwalk_stays(l, cfa))
		return false;
	l->sp = cfa;
	l->pc_from = l->bytes + pc_at;
	l->fp_from = kept ? (const uint8_t *)&l->fp : l->bytes + fp_at;
	__builtin_prefetch(l->pc_from);
	__builtin_prefetch(l->fp_from);
	l->flags = FRAME_CALLER;
	l->source = FRAME_BY_CFI;
	return ++l->frame < l->past;
}

/* A walk in progress, with its notes. */
struct track {
	struct fastwalk_slot *lane;
	struct suffix_note *notes;
};

static void fastwalk_set_out(struct fastwalk *w, struct fastwalk_slot *l)
{
	l->frame = l->trace->frames + l->trace->cnt;
	l->past = l->trace->frames + TRACE_MAX;
	l->bytes = l->snapshot->bytes;
	l->addr = l->snapshot->addr;
	l->words_end = l->snapshot->holes ? 0 : l->snapshot->sz - 7;
	l->end = FASTWALK_ODD;
	l->sz = 0;
	l->cached_stack = l->words_end ? suffix_cache__stack(&w->recall, l->process, l->sp) : NULL;
	l->suffix_sp = l->cached_stack ? suffix_stack__first_sp(l->cached_stack) : UINT64_MAX;
	l->suffix_idx = 0;
	l->from_cache = false;
	fastwalk_stand_at(l, l->pc, l->sp, l->fp);
	if (l->cached_stack && suffix_stack__is_far(l->cached_stack))
		suffix_cache__prefetch(l);
}

/* Returns false if the fast walk cannot do it. */
static inline bool fastwalk_begin(struct fastwalk *w, struct track *t, struct fastwalk_slot *l)
{
	fastwalk_set_out(w, l);
	l->notes = t->notes;
	l->note = l->notes + l->trace->cnt;
	t->lane = l;
	return l->snapshot->sz >= 8 && !l->idle && l->frame < l->past;
}

static inline bool fastwalk_may_pass(struct fastwalk_slot *l)
{
	return l->from_cache &&
	       suffix_stack__may_pass(l->cached_stack, l->suffix_idx, (size_t)(l->note - l->notes));
}

/* Removes a walk that has ended; the last one takes its place. */
static inline __attribute__((always_inline)) void fastwalk_take_off(struct track *t,
								    struct track *last)
{
	struct track ended = *t;

	if (ended.lane->end == FASTWALK_ROOT && ended.lane->cached_stack &&
	    !fastwalk_may_pass(ended.lane))
		suffix_cache__keep(ended.lane);
	*t = *last;
	*last = ended;
}

/* Runs half a step of all walks in progress. Returns the number that remain. */
static inline size_t fastwalk_arrive_all(struct fastwalk *w, struct track *going, size_t cnt)
{
	struct track *past = going + cnt;

	for (struct track *t = going; t < past;) {
		if (likely(fastwalk_arrive(w, t->lane)))
			t++;
		else
			fastwalk_take_off(t, --past);
	}
	return (size_t)(past - going);
}

static inline size_t fastwalk_climb_all(struct fastwalk *w, struct track *going, size_t cnt)
{
	struct track *past = going + cnt;

	for (struct track *t = going; t < past;) {
		if (likely(fastwalk_climb(w, t->lane)))
			t++;
		else
			fastwalk_take_off(t, --past);
	}
	return (size_t)(past - going);
}

void fastwalk__go(struct fastwalk *w, struct fastwalk_slot *lanes, size_t cnt)
{
	struct fastwalk_slot *next = lanes, *past = lanes + cnt;
	struct track going[FASTWALK_SLOTS];
	size_t n = 0;

	for (size_t i = 0; i < FASTWALK_SLOTS; i++)
		going[i].notes = w->notes[i];
	do {
		while (n < FASTWALK_SLOTS && next < past)
			n += fastwalk_begin(w, &going[n], next++);
		n = fastwalk_arrive_all(w, going, n);
		n = fastwalk_climb_all(w, going, n);
	} while (n || next < past);
	for (size_t i = 0; i < cnt; i++)
		lanes[i].trace->cnt = (size_t)(lanes[i].frame - lanes[i].trace->frames);
}

bool fastwalk__has_rule(struct fastwalk *w, const struct mapping *m, uint64_t place)
{
	const struct cached_rule *c = rule_cache__find(&w->rules, m, place);

	return c && c->rule.how != PACKED_NONE && c->rule.how != PACKED_ELSEWHERE;
}

bool fastwalk__has_no_rule(struct fastwalk *w, const struct mapping *m, uint64_t place)
{
	const struct cached_rule *c = rule_cache__find(&w->rules, m, place);

	return c && (c->rule.how == PACKED_NONE || c->rule.how == PACKED_POINTER);
}

void fastwalk__use_frame_pointer(struct fastwalk *w, const struct mapping *m, uint64_t place)
{
	struct cached_rule *c = rule_cache__find(&w->rules, m, place);

	if (c && c->rule.how == PACKED_NONE)
		c->rule = (struct packed_rule){ .how = PACKED_POINTER };
}

void fastwalk__request_tables(struct fastwalk *w, const struct trace *t)
{
	for (size_t i = 0; i < t->cnt; i++) {
		const struct mapping *m = t->frames[i].map;

		if (m && m->file)
			table_store__of(w->rules.tables, m->file);
	}
}
