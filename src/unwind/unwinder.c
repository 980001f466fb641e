// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>

#include "unwind/fastwalk.h"
#include "jit/jitcfi.h"
#include "unwind/slowwalk.h"

#define WALKS_MAX 64

struct unwinder {
	struct slowwalk walk;
	struct fastwalk *flat;
	struct jobs *jobs;
	struct unwinder_stats stats;
};

struct unwinder *unwinder__new(struct table_cache *cache, struct jobs *jobs)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->jobs = jobs;
	u->flat = fastwalk__new(cache, jobs);
	if (u->flat)
		return u;
	unwinder__free(u);
	return NULL;
}

int unwinder__set_jit(struct unwinder *u, struct jit *jit)
{
	u->walk.jit = jit_cfi__new(jit);
	return u->walk.jit ? 0 : -ENOMEM;
}

void unwinder__set_managed(struct unwinder *u, const struct managed_code *managed)
{
	u->walk.managed = *managed;
}

void unwinder__free(struct unwinder *u)
{
	if (!u)
		return;
	fastwalk__free(u->flat);
	jit_cfi__free(u->walk.jit);
	free(u);
}

/* Walks one frame by the slow walk: full rules, all registers. */
static enum unwind_status unwinder_walk_frame(struct slowwalk *w)
{
	struct frame *f = &w->trace->frames[w->trace->cnt++];

	*f = (struct frame){
		.pc = slowwalk__pc(w), .sp = slowwalk__sp(w), .flags = w->flags, .source = w->source
	};
	return slowwalk__step(w, f);
}

static enum unwind_status unwinder_walk_on(struct slowwalk *w)
{
	enum unwind_status status = SLOWWALK_GO_ON;

	while (status == SLOWWALK_GO_ON && w->trace->cnt < TRACE_MAX)
		status = unwinder_walk_frame(w);
	return status == SLOWWALK_GO_ON ? UNWIND_LIMIT : status;
}

static void unwinder_begin(struct slowwalk *w)
{
	const struct sample *s = w->sample;

	w->regs.machine = s->machine;
	memcpy(w->regs.v, s->regs, s->machine->reg_cnt * sizeof(*s->regs));
	w->regs.valid = s->valid;
	w->flags = 0;
	w->source = FRAME_BY_SAMPLE;
}

/* Prepares a walk after a trampoline. */
static void unwinder_come_from_signal(struct slowwalk *w, const struct fastwalk_slot *l)
{
	const struct machine *m = slowwalk__machine(w);

	w->signal_sp = w->trace->frames[w->trace->cnt - 1].sp;
	if (!machine__links(m))
		return;
	w->regs.v[m->ra] = l->link;
	w->regs.valid |= 1ull << m->ra;
}

/* Returns whether the fast walk can continue from the next frame. */
static bool unwinder_is_known(struct unwinder *u, const struct fastwalk_slot *l)
{
	struct slowwalk *w = &u->walk;
	uint64_t place = slowwalk__pc(w) - 1, needed = slowwalk__machine(w)->caller;
	const struct mapping *map = slowwalk__map(w, place);

	if (!(w->flags & FRAME_CALLER) || (w->regs.valid & needed) != needed)
		return false;
	return map && map->kind == MAPPING_ANON ? l->pointers && !map->opening
						: fastwalk__has_rule(u->flat, map, place);
}

/* If false, the sample is walked again when the awaited files have been read. */
static bool unwinder_is_final(const struct slowwalk *w)
{
	return !(w->awaits && w->patient);
}

/* The frame pointer led from that frame to the next one: the fast walk follows it from now on. */
static void unwinder_learn(struct unwinder *u, struct fastwalk_slot *l, const struct frame *f)
{
	const struct slowwalk *w = &u->walk;
	bool by_pointer = w->source == FRAME_BY_POINTER || w->source == FRAME_BY_LEAF_POINTER;

	if (!by_pointer || w->awaits || w->coded || machine__links(slowwalk__machine(w)))
		return;
	if (w->managed.may_own && w->managed.may_own(w->managed.arg, f->map))
		return; /* the runtime must be queried each time */
	if (f->map->file && f->flags & FRAME_CALLER)
		fastwalk__use_frame_pointer(u->flat, f->map, frame__place(f));
	else if (!f->map->file)
		l->pointers = !w->jit || jit_cfi__none(w->jit, w->process);
}

/* Returns whether a table has no rule for the next frame. */
static bool unwinder_has_no_rule(struct unwinder *u)
{
	const struct slowwalk *w = &u->walk;
	uint64_t place = slowwalk__pc(w) - !!(w->flags & FRAME_CALLER);

	return fastwalk__has_no_rule(u->flat, slowwalk__map(w, place), place);
}

/* Walks slowly through frames without table rules. Returns SLOWWALK_GO_ON if the fast walk can
 * continue. */
static enum unwind_status unwinder_cross(struct unwinder *u, struct fastwalk_slot *l)
{
	struct slowwalk *w = &u->walk;
	enum unwind_status status;

	do {
		w->bare = unwinder_has_no_rule(u);
		status = unwinder_walk_frame(w);
		if (status != SLOWWALK_GO_ON)
			return status;
		if (!unwinder_is_final(w))
			return UNWIND_NO_CFI;
		unwinder_learn(u, l, &w->trace->frames[w->trace->cnt - 1]);
		if (w->trace->cnt >= TRACE_MAX)
			return UNWIND_LIMIT;
	} while (!unwinder_is_known(u, l));
	l->snapshot = w->stack;
	fastwalk_slot__resume(l,
			      &(struct frame){ .pc = slowwalk__pc(w),
					       .sp = slowwalk__sp(w),
					       .source = w->source },
			      slowwalk__fp(w));
	return SLOWWALK_GO_ON;
}

/* Continues slowly after the frames of the fast walk; the first frame has all registers. */
static enum unwind_status unwinder_walk_slowly(struct unwinder *u, struct fastwalk_slot *l)
{
	struct slowwalk *w = &u->walk;
	const struct machine *m = slowwalk__machine(w);

	unwinder_begin(w);
	w->map = l->map;
	w->regs.v[m->pc] = l->pc;
	w->regs.v[m->sp] = l->sp;
	w->regs.v[m->fp] = l->fp;
	if (!w->trace->cnt)
		return unwinder_cross(u, l);
	w->source = l->source;
	w->flags = l->flags;
	w->regs.valid = m->caller;
	if (!(l->flags & FRAME_CALLER))
		unwinder_come_from_signal(w, l);
	return unwinder_cross(u, l);
}

/* Records a walk that the fast walk completed. */
static enum unwind_status unwinder_done(struct unwinder *u, const struct fastwalk_slot *l,
					enum unwind_status status)
{
	if (l->resumed)
		u->stats.partly++;
	else
		u->stats.flat++;
	u->stats.recalled += l->from_cache;
	return status;
}

/* Continues after code that switched stacks. */
static enum unwind_status unwinder_switched(struct unwinder *u, struct fastwalk_slot *l)
{
	const struct other_stack *before = &u->walk.sample->before;

	if (before->known && !before->stack.sz)
		return unwinder_done(u, l, UNWIND_ROOT);
	if (!fastwalk_slot__resume_other_stack(l, before))
		return unwinder_done(u, l, UNWIND_OTHER_STACK);
	return l->trace->cnt < TRACE_MAX ? SLOWWALK_GO_ON : unwinder_done(u, l, UNWIND_LIMIT);
}

static enum unwind_status unwinder_walk(struct unwinder *u, struct fastwalk_slot *l)
{
	struct slowwalk *w = &u->walk;
	enum unwind_status status;

	switch (l->end) {
	case FASTWALK_SWITCH: return unwinder_switched(u, l);
	case FASTWALK_CUT: return unwinder_done(u, l, UNWIND_TRUNCATED);
	case FASTWALK_NO_CFI:
		status = unwinder_walk_slowly(u, l);
		u->stats.partly += status != SLOWWALK_GO_ON && unwinder_is_final(w);
		return status;
	case FASTWALK_ROOT: /* nothing is left */
	case FASTWALK_ODD: break;
	}
	w->trace->cnt = 0;
	w->bare = false;
	slowwalk__stand_on(w, &w->sample->stack);
	unwinder_begin(w);
	status = unwinder_walk_on(w);
	u->stats.odd += unwinder_is_final(w);
	fastwalk__request_tables(u->flat, w->trace);
	return status;
}

/* A 32-bit process: only the leaf. */
static enum unwind_status unwinder_compat(struct slowwalk *w)
{
	struct frame *f = &w->trace->frames[0];

	*f = (struct frame){ .pc = w->sample->regs[slowwalk__machine(w)->pc],
			     .sp = w->sample->regs[slowwalk__machine(w)->sp] };
	f->map = slowwalk__map(w, f->pc);
	w->trace->cnt = 1;
	return UNWIND_COMPAT;
}

static uint64_t unwinder_code_bits(const struct sample *s)
{
	return s->code_bits ? s->code_bits : s->machine->code_bits;
}

/* Assigns field by field: see event__sample(). */
static void unwinder_begin_fast(struct fastwalk_slot *l, struct walk_job *j)
{
	const struct sample *s = j->sample;
	const struct machine *m = s->machine;

	l->arg = j;
	l->process = j->process;
	l->snapshot = &s->stack;
	l->trace = j->trace;
	l->trace->cnt = 0;
	l->map = NULL;
	l->code_bits = unwinder_code_bits(s);
	l->pc = s->regs[m->pc];
	l->sp = s->regs[m->sp];
	l->fp = s->regs[m->fp];
	l->top = s->truncated ? m->stack_end : 0;
	l->link = machine__links(m) ? s->regs[m->ra] : 0;
	l->flags = 0;
	l->source = FRAME_BY_SAMPLE;
	l->pointers = l->resumed = false;
	l->idle = s->compat || (s->valid & m->leaf) != m->leaf;
}

/* Continues after the fast walk. Returns SLOWWALK_GO_ON if the fast walk goes on. */
static enum unwind_status unwinder_walk_rest(struct unwinder *u, struct fastwalk_slot *l)
{
	struct walk_job *j = l->arg;
	struct slowwalk *w = &u->walk;

	w->process = j->process;
	w->sample = j->sample;
	w->trace = j->trace;
	w->map = NULL;
	w->code_bits = l->code_bits;
	slowwalk__stand_on(w, l->snapshot);
	w->signal_sp = 0;
	w->awaits = false;
	return j->sample->compat ? unwinder_compat(w) : unwinder_walk(u, l);
}

/* Returns false if the fast walk goes on. */
static bool unwinder_finish(struct unwinder *u, struct fastwalk_slot *l)
{
	struct walk_job *j = l->arg;

	if (l->end == FASTWALK_ROOT) {
		j->trace->status = unwinder_done(u, l, UNWIND_ROOT);
		j->awaits = false;
		return true;
	}
	j->trace->status = unwinder_walk_rest(u, l);
	j->awaits = u->walk.awaits;
	return j->trace->status != SLOWWALK_GO_ON;
}

/* Walks up to WALKS_MAX samples. */
static void unwinder_walk_batch(struct unwinder *u, struct walk_job *jobs, size_t cnt)
{
	struct fastwalk_slot lanes[WALKS_MAX];
	size_t left;

	for (size_t i = 0; i < cnt; i++)
		unwinder_begin_fast(&lanes[i], &jobs[i]);
	for (; cnt; cnt = left) {
		fastwalk__go(u->flat, lanes, cnt);
		left = 0;
		for (size_t i = 0; i < cnt; i++)
			if (!unwinder_finish(u, &lanes[i]))
				lanes[left++] = lanes[i];
	}
}

void unwinder__walk(struct unwinder *u, const struct process *process, const struct sample *sample,
		    struct trace *trace)
{
	u->walk.jobs = NULL;
	u->walk.patient = false;
	unwinder_walk_batch(u, &(struct walk_job){ process, sample, trace, false }, 1);
}

bool unwinder__try(struct unwinder *u, const struct process *process, const struct sample *sample,
		   struct trace *trace)
{
	struct walk_job job = { process, sample, trace, false };

	unwinder__try_many(u, &job, 1);
	return !job.awaits;
}

void unwinder__try_many(struct unwinder *u, struct walk_job *jobs, size_t cnt)
{
	u->walk.jobs = u->jobs;
	u->walk.patient = true;
	for (; cnt > WALKS_MAX; jobs += WALKS_MAX, cnt -= WALKS_MAX)
		unwinder_walk_batch(u, jobs, WALKS_MAX);
	unwinder_walk_batch(u, jobs, cnt);
}

void unwinder__walk_available(struct unwinder *u, const struct process *process,
			      const struct sample *sample, struct trace *trace)
{
	u->walk.jobs = u->jobs;
	u->walk.patient = false;
	unwinder_walk_batch(u, &(struct walk_job){ process, sample, trace, false }, 1);
}

void unwinder__stats(const struct unwinder *u, struct unwinder_stats *s)
{
	*s = u->stats;
	table_store__stats(fastwalk__tables(u->flat), &s->tables);
	s->jit_cfi_sz = jit_cfi__sz(u->walk.jit);
}
