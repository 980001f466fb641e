/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a thread's stack, and compares the walk with the thread's shadow stack. */
#ifndef TOOLS_SHADOW_CHECK_H
#define TOOLS_SHADOW_CHECK_H

#include "shadow_thread.h"

static inline void show(struct stepper *st, const struct thread *t, const struct pending *w)
{
	if (st->shown >= st->o.show)
		return;
	st->shown++;
	judge__print(&st->procs, t->proc, w);
}

static inline void pending_is_wrong(struct stepper *st, struct thread *t, const struct pending *w)
{
	enum verdict v = w->unfit ? VERDICT_NOT_JUDGED : w->verdict;
	size_t last = w->common && w->common <= w->cnt ? w->common - 1 : 0;
	struct frame f = proc__frame(&st->procs, t->proc, w->frames[last].pc,
				     w->frames[last].flags & FRAME_CALLER);

	st->tally.walks++;
	st->tally.by_verdict[v]++;
	tally__place(&st->tally, v, w->status, &f);
	if (!w->unfit || st->o.show_all)
		show(st, t, w);
}

static inline struct pending *pending_take(struct thread *t)
{
	struct pending *w = t->pending;

	t->pending = w->next;
	if (!t->pending)
		t->pending_end = &t->pending;
	return w;
}

/* Walks that no jump has explained in time are wrong. */
static inline void settle_old(struct stepper *st, struct thread *t, uint64_t patience)
{
	while (t->pending && t->pending->step + patience <= st->steps) {
		struct pending *w = pending_take(t);

		pending_is_wrong(st, t, w);
		free(w);
	}
}

/* Accepts callers that are right for the target. If the target is a landing pad, which is not a
 * return address, the rules of the code before it may lead elsewhere. */
static inline void settle_with(struct stepper *st, struct thread *t, struct pending *w,
			       uint64_t target)
{
	struct trace *trace = st->trace;
	size_t common;
	enum verdict v;

	trace->cnt = w->cnt;
	trace->status = w->status;
	memcpy(trace->frames, w->frames, w->cnt * sizeof(*w->frames));
	expected__set_jump(st->expected, t->shadow, w->frames[0].pc, target);
	v = judge(trace, st->expected);
	common = judge__common(trace, st->expected);
	w->unfit |= w->jumping && w->common == 1 && common == 2;
	if (verdict__is_wrong(v))
		pending_is_wrong(st, t, w);
	else
		tally__count(&st->tally, v, trace, common);
	st->tally.jumps += !verdict__is_wrong(v);
}

/* The thread has jumped to the present place, with the stack pointer that it had loaded. */
static inline void settle_jump(struct stepper *st, struct thread *t, uint64_t target)
{
	while (t->pending) {
		struct pending *w = pending_take(t);

		settle_with(st, t, w, target);
		free(w);
	}
}

/* Returns whether the user wants to count the walk. */
static inline bool walk_counts(struct stepper *st, struct thread *t)
{
	const struct proc_choice *c = &st->o.choice;
	const struct expected *x = st->expected;

	if (!c->function && !c->file)
		return true;
	for (size_t i = 0; i < (st->o.leaf ? 1 : x->cnt); i++)
		if (proc__match(&st->procs, t->proc, x->frames[i].pc - x->frames[i].caller)->counts)
			return true;
	return false;
}

/* Judges a thread that is between two stacks, or has its return address in a register. */
static inline enum verdict judge_either(struct stepper *st, const struct thread *t)
{
	enum verdict v = judge(st->trace, st->expected);

	if (!verdict__is_wrong(v) || !t->shadow->holds)
		return v;
	expected__set(st->expected, t->shadow, t->regs.rip, false);
	return judge(st->trace, st->expected);
}

/*
 * Returns whether the program has no valid stack: libgcc's unwinder copies the registers of the
 * frame that it will jump to into its own frame, including the return address; the C library's
 * swapcontext() loads the new stack pointer before it runs the code for it.
 */
static inline bool is_unfit(const struct thread *t, const struct expected *x, size_t common)
{
	const struct expected_frame *f = &x->frames[common];

	return t->shadow->switching || (common < x->cnt && f->caller && f->slot &&
					!t->shadow->holds && proc__word(t->proc, f->slot) != f->pc);
}

static inline void take_verdict(struct stepper *st, struct thread *t)
{
	enum verdict v = judge_either(st, t);
	size_t common = judge__common(st->trace, st->expected);
	struct pending *w = NULL;

	if (verdict__is_wrong(v) || (v != VERDICT_WHOLE && st->o.show_all))
		w = pending__new(st->trace, st->expected, st->steps);
	if (verdict__is_wrong(v)) {
		w->jumping = t->shadow->jumping;
		w->unfit = is_unfit(t, st->expected, common);
		*t->pending_end = w;
		t->pending_end = &w->next;
		return;
	}
	if (v == VERDICT_HONEST && st->o.truncated_ok && st->trace->status == UNWIND_TRUNCATED &&
	    st->event->flags & EVENT_F_TRUNCATED)
		v = VERDICT_WHOLE;
	tally__count(&st->tally, v, st->trace, common);
	if (w)
		show(st, t, w);
	free(w);
}

/* Like live__capture(), with known registers and a stack with a known end. */
static inline void capture(struct stepper *st, struct thread *t)
{
	const struct proc_range *r = proc__range(&st->procs, t->proc, t->regs.rsp);
	struct event *e = st->event;
	uint64_t sz;

	memset(e, 0, sizeof(*e));
	live__regs(&t->regs, e->regs);
	e->flags = EVENT_F_USER;
	e->tgid = t->proc->tgid;
	e->tid = (uint32_t)t->tid;
	e->stack_addr = t->regs.rsp - EVENT_RED_ZONE;
	sz = r ? r->end - e->stack_addr : 0;
	if (sz > st->o.stack_sz) {
		sz = st->o.stack_sz;
		e->flags |= EVENT_F_TRUNCATED;
	}
	e->ustack_sz = (uint32_t)proc__read(t->proc, e->stack_addr, e->data, sz);
}

/* Walks with the available tables; if that requests tables, walks again with them. */
static inline void walk(struct stepper *st, struct thread *t)
{
	const struct process *process;
	struct sample s;
	bool again;

	expected__set(st->expected, t->shadow, t->regs.rip, true);
	if (!walk_counts(st, t))
		return;
	capture(st, t);
	event__sample(st->event, &s);
	process = proc__process(&st->procs, t->proc);
	do {
		again = jobs__pending(st->jobs);
		must(jobs__wait(st->jobs, 60000000000));
		expected__set(st->expected, t->shadow, t->regs.rip, true);
		unwinder__walk(st->unwinder, process, &s, st->trace);
		take_verdict(st, t);
	} while (!again && jobs__pending(st->jobs));
}

#endif
