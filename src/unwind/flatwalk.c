// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/flatwalk.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_BITS 15 /* 512 KB: stays in the second-level cache */
#define OFF_BITS   40 /* of a file offset that is cached */

struct cached_rule {
	uint64_t key; /* table id << OFF_BITS | file offset; 0: free */
	struct flat_rule rule;
};

struct flatwalk {
	struct tables *tables;
	struct cached_rule cache[1 << CACHE_BITS];
};

struct flatwalk *flatwalk__new(struct table_cache *cache)
{
	struct flatwalk *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->tables = tables__new(cache);
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
	free(w);
}

struct tables *flatwalk__tables(struct flatwalk *w)
{
	return w->tables;
}

/* Processes that map the same file share what is cached. */
static struct flat_rule find_rule(struct flatwalk *w, struct elf_file *file, uint64_t off)
{
	const struct table_slot *slot = tables__of(w->tables, file);
	uint64_t key;
	struct cached_rule *c;

	if (__builtin_expect(!slot || !slot->table, 0))
		return (struct flat_rule){ .how = FLAT_ELSEWHERE };
	key = slot->id << OFF_BITS | off;
	c = &w->cache[(key * 0x9e3779b97f4a7c15u) >> (64 - CACHE_BITS)];
	if (__builtin_expect(c->key != key, 0)) {
		c->rule = frame_table__at(slot->table, off);
		c->key = off >> OFF_BITS ? 0 : key;
	}
	return c->rule;
}

/* False where the stack's bytes are needed and are not there, or no rule is. */
static bool find_cfa(const struct flatwalk_state *s, struct flat_rule r, uint64_t *cfa)
{
	uint64_t words = (uint64_t)(int64_t)r.cfa * 8;

	switch ((enum flat_how)r.how) {
	case FLAT_SP: *cfa = s->sp + words; return true;
	case FLAT_FP: *cfa = s->fp + words; return true;
	case FLAT_AT_FP: return snapshot__word(s->snapshot, s->fp + words, cfa);
	case FLAT_PLT: *cfa = s->sp + 8 + ((int)(s->pc & 15) >= r.cfa ? 8 : 0); return true;
	case FLAT_NONE:
	case FLAT_ROOT:
	case FLAT_ELSEWHERE: break;
	}
	return false;
}

/*
 * A slot below the stack pointer that is not in the snapshot belongs to a register that has been
 * popped already (epilogues do not always say so): its value is the caller's.
 */
static bool find_fp(const struct flatwalk_state *s, struct flat_rule r, uint64_t cfa, uint64_t *fp)
{
	uint64_t at = r.fp == FLAT_FP_AT_SELF ? s->fp : cfa + (uint64_t)(int64_t)r.fp * 8;

	*fp = s->fp;
	return r.fp == FLAT_FP_KEPT || snapshot__word(s->snapshot, at, fp) ||
	       (r.fp != FLAT_FP_AT_SELF && at < s->sp);
}

/* From the frame in the state to its caller; false when it cannot be found this way. */
static bool climb(struct flatwalk_state *s, struct flat_rule r)
{
	uint64_t cfa, fp, pc;

	if (!find_cfa(s, r, &cfa) ||
	    !snapshot__word(s->snapshot, cfa + (uint64_t)(int64_t)r.ra * 8, &pc) ||
	    !find_fp(s, r, cfa, &fp))
		return false;
	if (cfa <= s->sp && (s->caller || cfa < s->sp)) /* it must get somewhere */
		return false;
	s->pc = pc;
	s->sp = cfa;
	s->fp = fp;
	s->caller = true;
	return true;
}

static bool holds(const struct mapping *m, uint64_t addr)
{
	return m && addr >= m->start && addr < m->end;
}

enum flatwalk_end flatwalk__go(struct flatwalk *w, struct flatwalk_state *s)
{
	struct trace *t = s->trace;

	while (t->cnt < TRACE_MAX) {
		uint64_t place = s->pc - s->caller;
		struct frame *f = &t->frames[t->cnt];
		struct flat_rule rule;

		if (!holds(s->map, place))
			s->map = process__find(s->process, place);
		if (!s->map || !s->map->file)
			return FLATWALK_NO_FILE;
		*f = (struct frame){ s->pc, s->map, s->caller ? FRAME_CALLER : 0 };
		rule = find_rule(w, s->map->file, place - s->map->start + s->map->pgoff);
		if (rule.how == FLAT_ROOT || (rule.how != FLAT_ELSEWHERE && climb(s, rule))) {
			t->cnt++;
			if (rule.how == FLAT_ROOT || s->pc == 0)
				return FLATWALK_ROOT;
			continue;
		}
		return FLATWALK_ODD;
	}
	return FLATWALK_ODD;
}

void flatwalk__ask(struct flatwalk *w, const struct trace *t)
{
	for (size_t i = 0; i < t->cnt; i++) {
		const struct mapping *m = t->frames[i].map;

		if (m && m->file)
			tables__of(w->tables, m->file);
	}
}
