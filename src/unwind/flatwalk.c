// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/flatwalk.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CACHE_BITS 15 /* 512 KB: stays in the second-level cache */
#define OFF_BITS   40 /* of a file offset that is cached */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct cached_rule {
	uint64_t key; /* table id << OFF_BITS | file offset; 0: free */
	struct flat_rule rule;
};

struct flatwalk {
	struct tables *tables;
	struct cached_rule by_pointer; /* of any place in code without a file */
	struct cached_rule cache[1 << CACHE_BITS];
};

/* With all its memory: page by page it would take a third of the time of the first stacks. */
static void *populated(size_t sz)
{
	void *at = mmap(NULL, sz, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct flatwalk *flatwalk__new(struct table_cache *cache, struct jobs *jobs)
{
	struct flatwalk *w = populated(sizeof(*w));

	if (!w)
		return NULL;
	w->by_pointer = (struct cached_rule){ .key = 1, .rule = { .how = FLAT_POINTER } };
	w->tables = tables__new(cache, jobs);
	if (w->tables)
		return w;
	flatwalk__free(w);
	return NULL;
}

void flatwalk__free(struct flatwalk *w)
{
	if (!w)
		return;
	tables__free(w->tables);
	munmap(w, sizeof(*w));
}

struct tables *flatwalk__tables(struct flatwalk *w)
{
	return w->tables;
}

/* ---- rules --------------------------------------------------------------------------------------
 */

static const struct flat_rule elsewhere = { .how = FLAT_ELSEWHERE };

static struct cached_rule *place_of(struct flatwalk *w, uint64_t key)
{
	return &w->cache[(key * 0x9e3779b97f4a7c15u) >> (64 - CACHE_BITS)];
}

/* Where in a file, and under which key its rule is kept. */
struct spot {
	struct elf_file *file;
	uint64_t off, key;
};

/* Puts the rule into its place, if there is one. Two rules that want the same place share it and
 * the one beside it. */
static bool bring(struct flatwalk *w, struct cached_rule *c, const struct spot *s)
{
	struct cached_rule *beside = &w->cache[(size_t)(c - w->cache) ^ 1];
	struct cached_rule old = *c, found = *beside;

	if (old.key == s->key)
		return true;
	if (found.key != s->key) {
		found.key = s->off >> OFF_BITS ? 0 : s->key;
		if (!tables__rule(w->tables, s->file, s->off, &found.rule))
			return false;
	}
	*c = found;
	*beside = old;
	return true;
}

__attribute__((noinline)) static struct flat_rule look_up(struct flatwalk *w,
							  const struct flatwalk_lane *l)
{
	uint64_t off = l->pc - l->caller - l->map->start + l->map->pgoff;

	return bring(w, l->cached, &(struct spot){ l->map->file, off, l->key }) ? l->cached->rule
										: elsewhere;
}

/* Of a place in a mapping; NULL: there is no rule. */
static struct cached_rule *look_at(struct flatwalk *w, const struct mapping *m, uint64_t place)
{
	const struct table_slot *slot = m && m->file ? tables__of(w->tables, m->file) : NULL;
	struct cached_rule *c;
	struct spot s;

	if (!slot)
		return NULL;
	s.file = m->file;
	s.off = place - m->start + m->pgoff;
	s.key = (slot->id << OFF_BITS) + s.off;
	c = place_of(w, s.key);
	return bring(w, c, &s) ? c : NULL;
}

/* Into the mapping that holds the place. False when it has no file. */
static inline bool enter(struct flatwalk *w, struct flatwalk_lane *l, uint64_t place)
{
	const struct mapping *m = process__find(l->process, place);

	l->map = m;
	l->sz = 0;
	l->slot = m && m->file ? tables__of(w->tables, m->file) : NULL;
	if (!l->slot)
		return false;
	l->start = m->start;
	l->sz = m->end - m->start;
	l->base = (l->slot->id << OFF_BITS) + m->pgoff - m->start;
	return true;
}

/* ---- from a frame to its caller -----------------------------------------------------------------
 */

static uint64_t words(int16_t cnt)
{
	return (uint64_t)(int64_t)cnt * 8;
}

/* False where the stack's bytes are needed and are not there, or no rule is. */
static bool find_cfa(const struct flatwalk_lane *l, struct flat_rule r, uint64_t *cfa)
{
	switch ((enum flat_how)r.how) {
	case FLAT_SP: *cfa = l->sp + words(r.cfa); return true;
	case FLAT_FP: *cfa = l->fp + words(r.cfa); return true;
	case FLAT_AT_FP: return snapshot__word(l->snapshot, l->fp + words(r.cfa), cfa);
	case FLAT_PLT: *cfa = l->sp + 8 + ((int)(l->pc & 15) >= r.cfa ? 8 : 0); return true;
	case FLAT_NONE:
	case FLAT_ROOT:
	case FLAT_ELSEWHERE:
	case FLAT_SIGNAL:
	case FLAT_SWITCH:
	case FLAT_POINTER: break;
	}
	return false;
}

/*
 * A slot below the stack pointer that is not in the snapshot belongs to a register that has been
 * popped already (epilogues do not always say so): its value is the caller's.
 */
static bool find_fp(const struct flatwalk_lane *l, struct flat_rule r, uint64_t cfa, uint64_t *fp)
{
	uint64_t at = r.fp == FLAT_FP_AT_SELF ? l->fp : cfa + words(r.fp);

	*fp = l->fp;
	return r.fp == FLAT_FP_KEPT || snapshot__word(l->snapshot, at, fp) ||
	       (r.fp != FLAT_FP_AT_SELF && at < l->sp);
}

static inline bool end(struct flatwalk_lane *l, enum flatwalk_end how)
{
	l->end = how;
	return false;
}

static bool find_pc(const struct flatwalk_lane *l, struct flat_rule r, uint64_t cfa, uint64_t *pc)
{
	if (r.ra == FLAT_RA_LINKED) {
		*pc = l->caller ? 0 : l->link;
		return *pc != 0;
	}
	return snapshot__word(l->snapshot, cfa + words(r.ra), pc);
}

static bool end_here(struct flatwalk_lane *l, enum flatwalk_end how)
{
	l->frame++;
	return end(l, how);
}

/* From a signal trampoline to what was interrupted, when that is on the same stack. */
static bool leave_signal(struct flatwalk_lane *l, struct flat_rule r)
{
	const struct snapshot *s = l->snapshot;
	uint64_t at = l->sp, sp, fp, link, pc;

	if ((r.callers_only && !l->caller) || !snapshot__word(s, at + words(r.cfa), &sp) ||
	    !snapshot__word(s, at + words(r.fp), &fp) ||
	    !snapshot__word(s, at + words(r.fp) + 8, &link) ||
	    !snapshot__word(s, at + words(r.ra), &pc))
		return false;
	if (sp <= at || sp - at >= s->addr + s->sz - at)
		return false;
	l->frame->flags = FRAME_SIGNAL;
	l->climbing = l->caller = false;
	l->pc = pc & l->code_bits;
	l->sp = sp;
	l->fp = fp;
	l->link = link;
	return true;
}

/* What step.c says of it: the return address is past a snapshot that was cut. */
static bool is_cut_off(const struct flatwalk_lane *l, struct flat_rule r, uint64_t cfa)
{
	const struct snapshot *s = l->snapshot;

	return r.ra != FLAT_RA_LINKED && !s->holes && cfa % 8 == 0 && cfa < l->top &&
	       cfa > s->addr + s->sz;
}

/* Any rule to a caller, anywhere; at once. */
static bool find_caller(struct flatwalk_lane *l, struct flat_rule r)
{
	uint64_t cfa, pc, fp;

	if (!find_cfa(l, r, &cfa))
		return false;
	if (is_cut_off(l, r, cfa))
		return end_here(l, FLATWALK_CUT);
	if (!find_pc(l, r, cfa, &pc) || !find_fp(l, r, cfa, &fp))
		return false;
	if (cfa <= l->sp && (l->caller || cfa < l->sp)) /* it must get somewhere */
		return false;
	l->climbing = false;
	l->caller = true;
	l->pc = pc & l->code_bits;
	l->sp = cfa;
	l->fp = fp;
	return true;
}

/* What step.c does in the plain case, and nothing else. */
static bool follow_pointer(struct flatwalk_lane *l)
{
	uint64_t saved, pc;

	if (!l->caller || l->fp < l->sp || l->fp % 8 ||
	    !snapshot__word(l->snapshot, l->fp, &saved) ||
	    !snapshot__word(l->snapshot, l->fp + 8, &pc))
		return end(l, FLATWALK_NO_CFI);
	pc &= l->code_bits;
	if (pc == 0 || !process__find(l->process, pc - 1))
		return end(l, FLATWALK_NO_CFI);
	l->climbing = false;
	l->source = FRAME_BY_POINTER;
	l->first = ++l->frame;
	l->pc = pc;
	l->sp = l->fp + 16;
	l->fp = saved;
	return l->frame < l->past;
}

__attribute__((noinline)) static bool climb_slowly(struct flatwalk_lane *l, struct flat_rule r)
{
	if (r.how == FLAT_ROOT)
		return end_here(l, FLATWALK_ROOT);
	if (r.how == FLAT_SWITCH)
		return end_here(l, FLATWALK_SWITCH);
	if (r.how == FLAT_NONE)
		return end(l, FLATWALK_NO_CFI);
	if (r.how == FLAT_POINTER)
		return follow_pointer(l);
	if (!(r.how == FLAT_SIGNAL ? leave_signal(l, r) : find_caller(l, r)))
		return false;
	return ++l->frame < l->past;
}

/*
 * A step is made in two halves, the first one of all lanes before the second one of any: what a
 * half reads was asked for in the half before.
 */

/* Where code has no file. */
static bool enter_anonymous(struct flatwalk *w, struct flatwalk_lane *l)
{
	if (!l->pointers || !l->map || l->map->kind != MAPPING_ANON)
		return end(l, FLATWALK_NO_CFI);
	l->cached = &w->by_pointer;
	l->key = l->cached->key;
	return true;
}

/* To the caller that climb() has found, if it was called; finds where its rule is kept. */
static inline bool arrive(struct flatwalk *w, struct flatwalk_lane *l)
{
	uint64_t pc = l->pc, saved, place;

	if (likely(l->climbing)) {
		memcpy(&pc, l->bytes + l->ra_at, sizeof(pc));
		memcpy(&saved, l->bytes + l->fp_at, sizeof(saved));
		pc &= l->code_bits;
		l->fp = l->fp_kept ? l->fp : saved;
		l->pc = pc;
	}
	if (unlikely(pc == 0 && l->caller))
		return end(l, FLATWALK_ROOT);
	place = pc - l->caller;
	if (place - l->start >= l->sz && unlikely(!enter(w, l, place)))
		return enter_anonymous(w, l);
	l->key = place + l->base;
	l->cached = place_of(w, l->key);
	__builtin_prefetch(l->cached);
	return true;
}

static inline void add_frame(struct flatwalk_lane *l)
{
	struct frame *f = l->frame;

	f->pc = l->pc;
	f->sp = l->sp;
	f->map = l->map;
	f->flags = l->caller ? FRAME_CALLER : 0;
	f->source = f == l->first ? l->source : FRAME_BY_CFI;
}

/*
 * Finds where the caller's registers are. Without a branch that is hard to foretell: a wrong guess
 * costs more than all the rest.
 */
static inline bool climb(struct flatwalk *w, struct flatwalk_lane *l)
{
	struct flat_rule r = likely(l->cached->key == l->key) ? l->cached->rule : look_up(w, l);
	uint64_t sp = l->sp, fp = l->fp, cfa, ra_at, fp_at;
	bool kept = r.fp == FLAT_FP_KEPT;

	add_frame(l);
	cfa = (r.how == FLAT_FP ? fp : sp) + words(r.cfa);
	ra_at = cfa + words(r.ra) - l->addr;
	fp_at = kept ? ra_at : cfa + words(r.fp) - l->addr;
	__builtin_prefetch((const void *)((uintptr_t)l->bytes + ra_at)); /* be they anywhere */
	__builtin_prefetch((const void *)((uintptr_t)l->bytes + fp_at));
	l->sp = cfa;
	l->ra_at = ra_at;
	l->fp_at = fp_at;
	l->fp_kept = kept;
	l->climbing = true;
	if (unlikely(r.how > FLAT_FP || r.fp == FLAT_FP_AT_SELF || r.ra == FLAT_RA_LINKED ||
		     ra_at > l->last || fp_at > l->last || l->snapshot->holes)) {
		l->sp = sp;
		return climb_slowly(l, r);
	}
	if (unlikely(l->sp <= sp && (l->caller || l->sp < sp)))
		return false; /* it must get somewhere */
	l->caller = true;
	return ++l->frame < l->past;
}

/* The walks that are under way, and those that have not begun. */
struct queue {
	struct flatwalk_lane *going[FLATWALK_LANES];
	size_t cnt;
	struct flatwalk_lane *next, *past;
};

static struct flatwalk_lane *next_walk(struct queue *q)
{
	while (q->next < q->past) {
		struct flatwalk_lane *l = q->next++;

		l->first = l->frame = l->trace->frames + l->trace->cnt;
		l->past = l->trace->frames + TRACE_MAX;
		l->bytes = l->snapshot->bytes;
		l->addr = l->snapshot->addr;
		l->last = l->snapshot->sz - 8;
		l->end = FLATWALK_ODD;
		if (l->snapshot->sz >= 8 && !l->idle)
			return l;
	}
	return NULL;
}

/* Another walk begins where one has ended. */
static void replace(struct queue *q, size_t i)
{
	struct flatwalk_lane *l = next_walk(q);

	q->going[i] = l ? l : q->going[--q->cnt];
}

void flatwalk__go(struct flatwalk *w, struct flatwalk_lane *lanes, size_t cnt)
{
	struct queue q = { .next = lanes, .past = lanes + cnt };

	while (q.cnt < FLATWALK_LANES && (q.going[q.cnt] = next_walk(&q)))
		q.cnt++;
	while (q.cnt) {
		for (size_t i = 0; i < q.cnt;)
			if (likely(arrive(w, q.going[i])))
				i++;
			else
				replace(&q, i);
		for (size_t i = 0; i < q.cnt;)
			if (likely(climb(w, q.going[i])))
				i++;
			else
				q.going[i] = q.going[--q.cnt];
		while (q.cnt < FLATWALK_LANES && (q.going[q.cnt] = next_walk(&q)))
			q.cnt++;
	}
	for (size_t i = 0; i < cnt; i++)
		lanes[i].trace->cnt = (size_t)(lanes[i].frame - lanes[i].trace->frames);
}

bool flatwalk__knows(struct flatwalk *w, const struct mapping *m, uint64_t place)
{
	const struct cached_rule *c = look_at(w, m, place);

	return c && c->rule.how != FLAT_NONE && c->rule.how != FLAT_ELSEWHERE &&
	       c->rule.how != FLAT_POINTER;
}

bool flatwalk__lacks(struct flatwalk *w, const struct mapping *m, uint64_t place)
{
	const struct cached_rule *c = look_at(w, m, place);

	return c && (c->rule.how == FLAT_NONE || c->rule.how == FLAT_POINTER);
}

void flatwalk__learn(struct flatwalk *w, const struct mapping *m, uint64_t place)
{
	struct cached_rule *c = look_at(w, m, place);

	if (c)
		c->rule = (struct flat_rule){ .how = FLAT_POINTER };
}

void flatwalk__ask(struct flatwalk *w, const struct trace *t)
{
	for (size_t i = 0; i < t->cnt; i++) {
		const struct mapping *m = t->frames[i].map;

		if (m && m->file)
			tables__of(w->tables, m->file);
	}
}
