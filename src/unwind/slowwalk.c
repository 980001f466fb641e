// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/slowwalk.h"

#include "unwind/nocfi.h"

/* The kernel's signal frame with all of AVX-512 and AMX, and the red zone above it. */
#define SIGNAL_FRAME_MAX 32768

/* ---- with CFI ---- */

/* The stack pointer is outside the snapshot: a signal frame restored it, or a CFA switched stacks.
 */
static enum unwind_status slowwalk_left_snapshot(const struct slowwalk *w)
{
	uint64_t sp = slowwalk__sp(w);
	bool above = sp > slowwalk__snapshot_end(w) && slowwalk__is_stack_like(w, sp);

	if (w->signal_sp && sp - w->signal_sp > SIGNAL_FRAME_MAX)
		return UNWIND_OTHER_STACK;
	if (w->sample->truncated && above)
		return UNWIND_TRUNCATED;
	return w->trace->cnt > 1 && slowwalk__is_stack_like(w, sp) ? UNWIND_OTHER_STACK
								   : UNWIND_BAD_MEMORY;
}

/* Returns the reason why the return address could not be read. */
static enum unwind_status slowwalk_failed(const struct slowwalk *w, const struct full_rule *rule,
					  uint64_t cfa)
{
	bool by_sp = rule->cfa.how == RULE_REG && rule->cfa.reg == slowwalk__machine(w)->sp;
	bool incomplete = w->sample->truncated || w->stack->holes;

	if (!cfa || !slowwalk__is_stack_like(w, cfa))
		return incomplete && !cfa ? UNWIND_TRUNCATED : UNWIND_BAD_MEMORY;
	if (slowwalk__lacks(w, cfa - sizeof(cfa))) /* the return address is there */
		return UNWIND_TRUNCATED;
	if (w->sample->truncated && cfa > slowwalk__snapshot_end(w))
		return UNWIND_TRUNCATED;
	return slowwalk__in_snapshot(w, cfa) || by_sp ? UNWIND_BAD_MEMORY : UNWIND_OTHER_STACK;
}

/* Returns whether the stack pointer grew; only a leaf may have a frame without stack bytes. */
static bool slowwalk_moved(const struct slowwalk *w, uint64_t old_sp, bool leaf)
{
	uint64_t sp = slowwalk__sp(w);

	return sp > old_sp || (leaf && sp == old_sp) || !slowwalk__in_snapshot(w, sp);
}

/* Continues on the stack that the thread switched from. */
static enum unwind_status slowwalk_go_back(struct slowwalk *w)
{
	const struct other_stack *o = &w->sample->before;
	const struct machine *m = slowwalk__machine(w);

	if (!o->known || w->stack == &o->stack)
		return UNWIND_OTHER_STACK;
	if (!o->stack.sz)
		return UNWIND_ROOT;
	slowwalk__stand_on(w, &o->stack);
	w->regs.v[m->pc] = o->pc;
	w->regs.v[m->sp] = o->sp;
	w->regs.v[m->fp] = o->fp;
	w->regs.valid = m->caller;
	if (o->link) {
		w->regs.v[m->ra] = o->link;
		w->regs.valid |= 1ull << m->ra;
	}
	w->flags = 0;
	w->source = FRAME_BY_CFI;
	w->signal_sp = 0;
	return SLOWWALK_GO_ON;
}

/* A handler on a signal stack interrupted code on another stack. */
static bool slowwalk_leave_signal_stack(struct slowwalk *w)
{
	const struct other_stack *o = &w->sample->before;

	if (!o->stack.sz || w->stack == &o->stack || slowwalk__sp(w) != o->sp)
		return false;
	slowwalk__stand_on(w, &o->stack);
	w->signal_sp = 0;
	return true;
}

static enum unwind_status slowwalk_step_by_rule(struct slowwalk *w, const struct full_rule *rule,
						bool leaf)
{
	uint64_t sp = slowwalk__sp(w), cfa;
	bool signal = rule->flags & RULE_SIGNAL;
	int err;

	if (rule->flags & RULE_ROOT)
		return UNWIND_ROOT;
	if (rule->flags & RULE_SWITCH)
		return slowwalk_go_back(w);
	if (rule->flags & RULE_LOCK_STUB && leaf)
		return UNWIND_NO_CFI;
	if (!slowwalk__in_snapshot(w, sp))
		return slowwalk_left_snapshot(w);
	err = full_rule__apply(rule, w->stack, &w->regs, &cfa);
	if (err)
		return slowwalk_failed(w, rule, cfa);
	w->regs.v[slowwalk__machine(w)->pc] &= w->code_bits;
	if (slowwalk__pc(w) == 0 && !signal)
		return UNWIND_ROOT;
	w->signal_sp = signal ? sp : 0;
	w->flags = signal || rule->flags & RULE_INTERRUPTED ? 0 : FRAME_CALLER;
	w->source = rule->flags & RULE_UNWINDING ? FRAME_BY_UNWINDING : FRAME_BY_CFI;
	if (signal && slowwalk_leave_signal_stack(w))
		return SLOWWALK_GO_ON;
	return slowwalk_moved(w, sp, leaf && !signal) ? SLOWWALK_GO_ON : UNWIND_NO_PROGRESS;
}

/* ---- in a uprobe ---- */

/*
 * Since Linux 6.18, a uprobe at a nop of five bytes is a call to a page of the kernel's code: push
 * %rcx, %r11, %rax; a system call; pop them; ret (arch/x86/kernel/uprobes.c). This table has the
 * pushed bytes, by offset in the page.
 */
static const uint8_t uprobe_pushed[] = { 0,  8,	 8,  16, 24, 24, 24, 24, 24,
					 24, 24, 24, 24, 24, 16, 16, 8,	 0 };

#define UPROBE_IN_CALL 13 /* after the system call */

/* The return address shows that the page has the expected code: in the file, the nop precedes it.
 */
static bool slowwalk_leaves_at(struct slowwalk *w, uint64_t at, uint64_t *pc)
{
	return snapshot__word(w->stack, at, pc) &&
	       slowwalk__is_behind(w, *pc, elf_code__after_nop, false);
}

/*
 * During the system call the registers become those at the nop: the stack pointer may already be
 * restored. Behind the first slot of a page are copies of the instructions at probes, which have
 * not run yet (kernel/events/uprobes.c, xol_get_insn_slot()). Most probes are where a function
 * starts.
 */
static enum unwind_status slowwalk_leave_uprobe(struct slowwalk *w)
{
	uint64_t off = slowwalk__pc(w) - w->map->start, at = slowwalk__sp(w), pc;

	if (off >= sizeof(uprobe_pushed))
		return no_cfi__leave_entry(w);
	at += uprobe_pushed[off];
	if (!slowwalk_leaves_at(w, at, &pc)) {
		at = slowwalk__sp(w) - sizeof(pc);
		if (off != UPROBE_IN_CALL || !slowwalk_leaves_at(w, at, &pc))
			return UNWIND_NO_CFI;
	}
	w->source = FRAME_BY_CFI;
	return slowwalk__return_to(w, pc, at + sizeof(pc));
}

/* Returns whether the rule needs the stack pointer, which may be unknown after a frame without CFI.
 */
static bool slowwalk_needs_sp(const struct slowwalk *w, const struct full_rule *rule)
{
	return !(rule->flags & (RULE_ROOT | RULE_SWITCH)) &&
	       (rule->cfa.how != RULE_REG || rule->cfa.reg == slowwalk__machine(w)->sp);
}

/* ---- in code of a managed runtime ---- */

/* Returns SLOWWALK_STAY if the code belongs to no runtime. */
static enum unwind_status slowwalk_step_managed(struct slowwalk *w, struct frame *f)
{
	const struct machine *m = slowwalk__machine(w);
	const struct managed_query q = { w->process, w->sample, w->stack, w->patient };
	struct managed_frame at = { .pc = f->pc,
				    .sp = f->sp,
				    .fp = slowwalk__fp(w),
				    .caller = f->flags & FRAME_CALLER,
				    .regs = f->flags & FRAME_CALLER ? NULL : w->regs.v };
	enum managed_result result = w->managed.step(w->managed.arg, &q, &at);

	if (result == MANAGED_NONE)
		return SLOWWALK_STAY;
	f->flags |= FRAME_MANAGED;
	w->awaits |= result == MANAGED_AWAITS;
	if (result != MANAGED_STEPPED)
		return at.caller && w->sample->truncated ? UNWIND_TRUNCATED : UNWIND_NO_CFI;
	if (at.sp <= f->sp)
		return UNWIND_NO_PROGRESS;
	f->pc = at.own_pc;
	f->sp = at.own_sp;
	f->flags |= (at.interprets ? FRAME_INTERPRETS : 0) | (at.hidden ? FRAME_INTERPRETER : 0);
	w->regs.v[m->fp] = at.fp;
	w->regs.valid = m->caller;
	w->source = FRAME_BY_CFI;
	return slowwalk__return_to(w, at.pc, at.sp);
}

/* Some runtimes have code in their own file. */
static enum unwind_status slowwalk_step_without_rule(struct slowwalk *w, struct frame *f,
						     struct libdw_rules *cfi, uint64_t vaddr)
{
	bool caller = f->flags & FRAME_CALLER;
	enum unwind_status status = SLOWWALK_STAY;

	if (w->managed.step && f->map->kind == MAPPING_FILE)
		status = slowwalk_step_managed(w, f);
	return status == SLOWWALK_STAY ? no_cfi__step(w, cfi, vaddr - caller, caller) : status;
}

/* ---- one step ---- */

enum unwind_status slowwalk__step(struct slowwalk *w, struct frame *f)
{
	bool caller = f->flags & FRAME_CALLER;
	const struct full_rule *rule = NULL;
	uint64_t vaddr = 0;
	struct libdw_rules *cfi;

	w->coded = false;
	f->map = w->map = slowwalk__map(w, frame__place(f));
	if (!f->map)
		return caller ? UNWIND_NO_MAP : no_cfi__leave_no_code(w);
	if (f->map->kind == MAPPING_UPROBES && !caller)
		return slowwalk_leave_uprobe(w);
	if (w->managed.step && f->map->kind == MAPPING_ANON) {
		enum unwind_status status = slowwalk_step_managed(w, f);

		if (status != SLOWWALK_STAY)
			return status;
	}
	cfi = slowwalk__find_cfi(w, f, &vaddr);
	if (cfi) {
		rule = w->bare && f->map->file ? libdw_rules__rule_beside(cfi, vaddr, caller)
					       : libdw_rules__rule(cfi, vaddr, caller);
		w->awaits |= libdw_rules__awaits(cfi);
	}
	if (w->awaits && w->patient)
		return UNWIND_NO_CFI;
	if (!rule)
		return slowwalk_step_without_rule(w, f, cfi, vaddr);
	if (rule->flags & (RULE_SIGNAL | RULE_PLANTED)) /* the pc itself is the place */
		f->flags &= ~(uint32_t)FRAME_CALLER;
	if (rule->flags & RULE_SIGNAL)
		f->flags |= FRAME_SIGNAL;
	if (!regs__has(&w->regs, slowwalk__machine(w)->sp) && slowwalk_needs_sp(w, rule))
		return no_cfi__follow_fp(w, caller);
	return slowwalk_step_by_rule(w, rule, !caller);
}
