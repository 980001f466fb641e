// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/slowwalk.h"

#include "cfi/libdwrules.h"
#include "elf/code.h"

/* The kernel's signal frame with all of AVX-512 and AMX, and the red zone above it. */
#define SIGNAL_FRAME_MAX 32768

#define ENTRY_MAX 16 /* bytes of stack that a program's first instructions may use */

#define ADDRESS_MIN 0x10000 /* vm.mmap_min_addr's default */

/* ---- addresses ---- */

static uint64_t snapshot_end(const struct slowwalk *w)
{
	return w->stack->addr + w->stack->sz;
}

/* Includes the bytes before the snapshot that the leaf has not touched yet. */
static bool in_snapshot(const struct slowwalk *w, uint64_t sp)
{
	return sp - w->low <= snapshot_end(w) - w->low;
}

/* Returns whether the page was not in memory: a page between others, or the stack pointer's own
 * page (while the kernel copies it at the first write after a fork). */
static bool lacks(const struct slowwalk *w, uint64_t addr)
{
	return in_snapshot(w, addr) &&
	       ((addr < w->stack->addr && w->stack->sz) || snapshot__lacks(w->stack, addr));
}

static bool is_stack_like(const struct slowwalk *w, uint64_t addr)
{
	return addr % 8 == 0 && addr >= ADDRESS_MIN && addr < slowwalk__machine(w)->stack_end;
}

/* Like find_cfi(), for generated code; addresses are those of the process. */
static struct libdw_rules *find_jit_cfi(const struct slowwalk *w, const struct frame *f,
					uint64_t *vaddr)
{
	struct jit_place place = { w->process->tgid, frame__place(f), w->sample->time_ns };
	struct elf_file *file;

	if (f->map->kind != MAPPING_ANON)
		return NULL;
	*vaddr = f->pc;
	if (!place.time_ns)
		place.time_ns = UINT64_MAX;
	file = jit_cfi__find(w->jit, &place, w->jobs);
	return file && file->machine == slowwalk__machine(w) ? libdw_rules__of(file, NULL) : NULL;
}

/* Returns the rules for a pc and sets its link-time address; NULL if the mapping has no file. */
static struct libdw_rules *find_cfi(struct slowwalk *w, const struct frame *f, uint64_t *vaddr)
{
	const struct mapping *m = f->map;
	bool caller = f->flags & FRAME_CALLER;

	w->awaits |= m->opening != NULL;
	if (!m->file)
		return find_jit_cfi(w, f, vaddr);
	if (m->file->machine != slowwalk__machine(w) ||
	    !elf_file__vaddr(m->file, frame__place(f) - m->start + m->pgoff, vaddr))
		return NULL;
	*vaddr += caller;
	return libdw_rules__of(m->file, w->jobs);
}

/* ---- without CFI ---- */

/* Returns what `is` returns for the code before an address, or `other` if there is no file. */
static bool is_behind(struct slowwalk *w, uint64_t addr, cfi_text_fn is, bool other)
{
	struct frame caller = { addr, .map = slowwalk__map(w, addr - 1), .flags = FRAME_CALLER };
	struct libdw_rules *cfi;
	uint64_t vaddr;
	bool found;

	if (!caller.map)
		return false;
	w->awaits |= caller.map->opening != NULL;
	cfi = caller.map->file ? find_cfi(w, &caller, &vaddr) : NULL;
	found = cfi ? libdw_rules__code(cfi, vaddr, is) : other;
	w->awaits |= cfi && libdw_rules__awaits(cfi);
	return found;
}

static bool is_return_address(struct slowwalk *w, uint64_t addr)
{
	return is_behind(w, addr, elf_code__after_call, true);
}

/* Returns whether goroutines return to this address. */
static bool is_in_goexit(struct slowwalk *w, uint64_t addr)
{
	struct frame caller = { addr, .map = slowwalk__map(w, addr - 1), .flags = FRAME_CALLER };
	uint64_t vaddr;
	struct libdw_rules *cfi =
		caller.map && caller.map->file ? find_cfi(w, &caller, &vaddr) : NULL;

	return cfi && libdw_rules__is_go(cfi) && is_behind(w, addr, elf_code__in_goexit, false);
}

static enum unwind_status return_to(struct slowwalk *w, uint64_t pc, uint64_t sp)
{
	w->flags = FRAME_CALLER;
	w->regs.v[slowwalk__machine(w)->pc] = pc;
	w->regs.v[slowwalk__machine(w)->sp] = sp;
	if (machine__links(slowwalk__machine(w)))
		w->regs.valid &= ~(1ull << slowwalk__machine(w)->ra);
	return SLOWWALK_GO_ON;
}

/* Counts the frames before the current one that were found by frame pointer. */
static size_t count_chain(const struct slowwalk *w)
{
	const struct frame *f = w->trace->frames;
	size_t i = w->trace->cnt;

	while (i &&
	       (f[i - 1].source == FRAME_BY_POINTER || f[i - 1].source == FRAME_BY_LEAF_POINTER))
		i--;
	return w->trace->cnt - i;
}

/* The kernel starts a program with a frame pointer of 0 at the very top of its stack (psABI 3.4.1).
 */
static bool is_at_top(const struct slowwalk *w)
{
	return regs__has(&w->regs, slowwalk__machine(w)->fp) && slowwalk__fp(w) == 0 &&
	       !w->sample->truncated && snapshot_end(w) - slowwalk__sp(w) <= ENTRY_MAX;
}

#define CHAIN_MIN 2 /* frames: a single frame pointer that leads to 0 may be chance */

/*
 * The frame pointer is 0 in the outermost frame (psABI 3.4.1, AAPCS64 6.4.6), but code that uses
 * the register for other values may have any number in it. Therefore 0 counts only at the end of a
 * chain, and at the top of the stack.
 */
static enum unwind_status end_of_chain(const struct slowwalk *w, bool caller)
{
	return caller && (count_chain(w) >= CHAIN_MIN || is_at_top(w)) ? UNWIND_ROOT
								       : UNWIND_NO_CFI;
}

/* The frame pointer points outside the snapshot. After a chain it surely is a frame pointer. */
static enum unwind_status off_snapshot(const struct slowwalk *w, uint64_t fp)
{
	if (w->sample->truncated && fp + 16 > snapshot_end(w))
		return UNWIND_TRUNCATED;
	if (lacks(w, fp) || lacks(w, fp + 8))
		return UNWIND_TRUNCATED;
	return count_chain(w) ? UNWIND_OTHER_STACK : UNWIND_NO_CFI;
}

/*
 * Follows a frame made by `push %rbp; mov %rsp,%rbp`, or by `stp x29, x30, [sp, #-n]!; mov x29,
 * sp`. In the latter, the caller's stack pointer is somewhere above.
 */
static enum unwind_status follow_fp(struct slowwalk *w, bool caller)
{
	const struct machine *m = slowwalk__machine(w);
	uint64_t fp = slowwalk__fp(w), saved, pc;

	if (!regs__has(&w->regs, m->fp))
		return UNWIND_NO_CFI;
	if (fp == 0)
		return end_of_chain(w, caller);
	if (!is_stack_like(w, fp))
		return UNWIND_NO_CFI;
	if (!snapshot__word(w->stack, fp, &saved) || !snapshot__word(w->stack, fp + 8, &pc))
		return off_snapshot(w, fp);
	if (fp < slowwalk__sp(w))
		return UNWIND_NO_CFI;
	pc &= w->code_bits;
	if (pc == 0)
		return count_chain(w) ? UNWIND_ROOT : UNWIND_NO_CFI;
	if (!slowwalk__map(w, pc - 1))
		return UNWIND_NO_CFI;
	w->source = caller ? FRAME_BY_POINTER : FRAME_BY_LEAF_POINTER;
	w->regs.v[m->fp] = saved;
	w->regs.valid = m->caller & ~(machine__links(m) ? 1ull << m->sp : 0);
	return return_to(w, pc, fp + 16);
}

/* Finds the return address of a leaf without a frame, and its caller's stack pointer. */
static bool find_return_address(const struct slowwalk *w, uint64_t *pc, uint64_t *sp)
{
	const struct machine *m = slowwalk__machine(w);
	uint64_t own;

	*sp = slowwalk__sp(w);
	if (!machine__links(m)) {
		*sp += 8;
		return snapshot__word(w->stack, *sp - 8, pc);
	}
	*pc = w->regs.v[m->ra] & w->code_bits;
	/* The leaf may have a frame, and have called nothing yet. */
	return regs__has(&w->regs, m->ra) &&
	       (!snapshot__word(w->stack, slowwalk__fp(w) + 8, &own) ||
		(own & w->code_bits) != *pc);
}

#define RESULT_REG 0 /* rax, x0: the result of a system call */

/*
 * A new thread starts after the system call that created it, in code of the C library without CFI:
 * the system call returned 0 there, and the stack is empty or has old data.
 */
static bool is_new_thread(struct slowwalk *w)
{
	return regs__has(&w->regs, RESULT_REG) && w->regs.v[RESULT_REG] == 0 &&
	       is_behind(w, slowwalk__pc(w), elf_code__after_clone, false);
}

/* ---- by instructions ---- */

/* Finds the caller's stack pointer; returns false if it is unknown. */
static bool find_code_cfa(const struct slowwalk *w, const struct packed_rule *rule, uint64_t *cfa)
{
	const struct machine *m = slowwalk__machine(w);
	uint16_t base = rule->how == PACKED_FP ? m->fp : m->sp;

	*cfa = w->regs.v[base] + 8 * (uint64_t)(int64_t)rule->cfa;
	return regs__has(&w->regs, base) && *cfa > slowwalk__sp(w);
}

/*
 * Finds the caller by the rule derived from the function's instructions. Returns SLOWWALK_STAY if
 * no return address is there: data among the code, or a jump that the scan did not follow, may have
 * misled it. A root also needs a frame pointer of 0, because no call confirms it.
 */
static enum unwind_status step_by_code(struct slowwalk *w, const struct packed_rule *rule)
{
	const struct machine *m = slowwalk__machine(w);
	uint64_t cfa, pc, fp = slowwalk__fp(w);

	if (rule->how == PACKED_ROOT)
		return regs__has(&w->regs, m->fp) && fp == 0 ? UNWIND_ROOT : SLOWWALK_STAY;
	if (!find_code_cfa(w, rule, &cfa) || !snapshot__word(w->stack, cfa - 8, &pc))
		return SLOWWALK_STAY;
	if (rule->fp != PACKED_FP_KEPT &&
	    !snapshot__word(w->stack, cfa + 8 * (uint64_t)(int64_t)rule->fp, &fp))
		return SLOWWALK_STAY;
	if (!is_return_address(w, pc) && !is_in_goexit(w, pc))
		return SLOWWALK_STAY;
	w->regs.v[m->fp] = fp;
	w->regs.valid = m->caller & ~(rule->flags & PACKED_FP_LOST ? 1ull << m->fp : 0);
	w->source = FRAME_BY_CODE;
	return return_to(w, pc, cfa);
}

/* ---- by the stack's contents ---- */

/*
 * A leaf without CFI (JIT code, hand-written assembly) often has no frame: the frame pointer is
 * then its caller's, and the return address is at the stack pointer, or in the link register.
 */
static enum unwind_status guess_caller(struct slowwalk *w, bool caller)
{
	uint64_t pc, sp;

	if (!caller && find_return_address(w, &pc, &sp) && is_return_address(w, pc)) {
		w->source = FRAME_BY_RETURN_ADDRESS;
		return return_to(w, pc, sp);
	}
	if (!caller && is_new_thread(w))
		return UNWIND_ROOT;
	return follow_fp(w, caller);
}

/*
 * Steps back from a call of an address that no mapping can have. Nothing has been executed there,
 * so the return address is on top of the stack, or in the link register.
 */
static enum unwind_status leave_no_code(struct slowwalk *w)
{
	uint64_t pc, sp;

	if (slowwalk__pc(w) >= ADDRESS_MIN && slowwalk__pc(w) < slowwalk__machine(w)->stack_end)
		return UNWIND_NO_MAP; /* the mapping may have been created since */
	if (!find_return_address(w, &pc, &sp) || !is_return_address(w, pc))
		return UNWIND_NO_MAP;
	w->source = FRAME_BY_RETURN_ADDRESS;
	return return_to(w, pc, sp);
}

static enum unwind_status step_without_cfi(struct slowwalk *w, struct libdw_rules *cfi,
					   uint64_t place, bool caller)
{
	const struct packed_rule *rule;
	enum unwind_status status;

	if (!caller && w->map->file && is_at_top(w))
		return UNWIND_ROOT;
	if (caller && is_in_goexit(w, slowwalk__pc(w)))
		return UNWIND_ROOT;
	rule = cfi ? libdw_rules__code_rule(cfi, place) : NULL;
	w->coded = rule;
	w->awaits |= cfi && libdw_rules__awaits(cfi);
	if (w->awaits && w->patient)
		return UNWIND_NO_CFI;
	status = rule ? step_by_code(w, rule) : SLOWWALK_STAY;
	return status == SLOWWALK_STAY ? guess_caller(w, caller) : status;
}

/* ---- with CFI ---- */

/* The stack pointer is outside the snapshot: a signal frame restored it, or a CFA switched stacks.
 */
static enum unwind_status left_snapshot(const struct slowwalk *w)
{
	uint64_t sp = slowwalk__sp(w);
	bool above = sp > snapshot_end(w) && is_stack_like(w, sp);

	if (w->signal_sp && sp - w->signal_sp > SIGNAL_FRAME_MAX)
		return UNWIND_OTHER_STACK;
	if (w->sample->truncated && above)
		return UNWIND_TRUNCATED;
	return w->trace->cnt > 1 && is_stack_like(w, sp) ? UNWIND_OTHER_STACK : UNWIND_BAD_MEMORY;
}

/* Returns the reason why the return address could not be read. */
static enum unwind_status failed(const struct slowwalk *w, const struct full_rule *rule,
				 uint64_t cfa)
{
	bool by_sp = rule->cfa.how == RULE_REG && rule->cfa.reg == slowwalk__machine(w)->sp;
	bool incomplete = w->sample->truncated || w->stack->holes;

	if (!cfa || !is_stack_like(w, cfa))
		return incomplete && !cfa ? UNWIND_TRUNCATED : UNWIND_BAD_MEMORY;
	if (lacks(w, cfa - sizeof(cfa))) /* the return address is there */
		return UNWIND_TRUNCATED;
	if (w->sample->truncated && cfa > snapshot_end(w))
		return UNWIND_TRUNCATED;
	return in_snapshot(w, cfa) || by_sp ? UNWIND_BAD_MEMORY : UNWIND_OTHER_STACK;
}

/* Returns whether the stack pointer grew; only a leaf may have a frame without stack bytes. */
static bool moved(const struct slowwalk *w, uint64_t old_sp, bool leaf)
{
	uint64_t sp = slowwalk__sp(w);

	return sp > old_sp || (leaf && sp == old_sp) || !in_snapshot(w, sp);
}

/* Continues on the stack that the thread switched from. */
static enum unwind_status go_back(struct slowwalk *w)
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
static bool leave_signal_stack(struct slowwalk *w)
{
	const struct other_stack *o = &w->sample->before;

	if (!o->stack.sz || w->stack == &o->stack || slowwalk__sp(w) != o->sp)
		return false;
	slowwalk__stand_on(w, &o->stack);
	w->signal_sp = 0;
	return true;
}

static enum unwind_status step_by_rule(struct slowwalk *w, const struct full_rule *rule, bool leaf)
{
	uint64_t sp = slowwalk__sp(w), cfa;
	bool signal = rule->flags & RULE_SIGNAL;
	int err;

	if (rule->flags & RULE_ROOT)
		return UNWIND_ROOT;
	if (rule->flags & RULE_SWITCH)
		return go_back(w);
	if (rule->flags & RULE_LOCK_STUB && leaf)
		return UNWIND_NO_CFI;
	if (!in_snapshot(w, sp))
		return left_snapshot(w);
	err = full_rule__apply(rule, w->stack, &w->regs, &cfa);
	if (err)
		return failed(w, rule, cfa);
	w->regs.v[slowwalk__machine(w)->pc] &= w->code_bits;
	if (slowwalk__pc(w) == 0 && !signal)
		return UNWIND_ROOT;
	w->signal_sp = signal ? sp : 0;
	w->flags = signal || rule->flags & RULE_INTERRUPTED ? 0 : FRAME_CALLER;
	w->source = rule->flags & RULE_UNWINDING ? FRAME_BY_UNWINDING : FRAME_BY_CFI;
	if (signal && leave_signal_stack(w))
		return SLOWWALK_GO_ON;
	return moved(w, sp, leaf && !signal) ? SLOWWALK_GO_ON : UNWIND_NO_PROGRESS;
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
static bool leaves_at(struct slowwalk *w, uint64_t at, uint64_t *pc)
{
	return snapshot__word(w->stack, at, pc) && is_behind(w, *pc, elf_code__after_nop, false);
}

/* During the system call the registers become those at the nop: the stack pointer may already be
 * restored. */
static enum unwind_status leave_uprobe(struct slowwalk *w)
{
	uint64_t off = slowwalk__pc(w) - w->map->start, at = slowwalk__sp(w), pc;

	if (off >= sizeof(uprobe_pushed))
		return UNWIND_NO_CFI;
	at += uprobe_pushed[off];
	if (!leaves_at(w, at, &pc)) {
		at = slowwalk__sp(w) - sizeof(pc);
		if (off != UPROBE_IN_CALL || !leaves_at(w, at, &pc))
			return UNWIND_NO_CFI;
	}
	w->source = FRAME_BY_CFI;
	return return_to(w, pc, at + sizeof(pc));
}

/* Returns whether the rule needs the stack pointer, which may be unknown after a frame without CFI.
 */
static bool needs_sp(const struct slowwalk *w, const struct full_rule *rule)
{
	return !(rule->flags & (RULE_ROOT | RULE_SWITCH)) &&
	       (rule->cfa.how != RULE_REG || rule->cfa.reg == slowwalk__machine(w)->sp);
}

/* ---- in code of a managed runtime ---- */

/* Returns SLOWWALK_STAY if no runtime knows the code. */
static enum unwind_status step_managed(struct slowwalk *w, struct frame *f)
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
	f->flags |= at.interprets ? FRAME_INTERPRETS : 0;
	w->regs.v[m->fp] = at.fp;
	w->regs.valid = m->caller;
	w->source = FRAME_BY_CFI;
	return return_to(w, at.pc, at.sp);
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
		return caller ? UNWIND_NO_MAP : leave_no_code(w);
	if (f->map->kind == MAPPING_UPROBES && !caller)
		return leave_uprobe(w);
	if (w->managed.step && f->map->kind == MAPPING_ANON) {
		enum unwind_status status = step_managed(w, f);

		if (status != SLOWWALK_STAY)
			return status;
	}
	cfi = find_cfi(w, f, &vaddr);
	if (cfi) {
		rule = w->bare && f->map->file ? libdw_rules__rule_beside(cfi, vaddr, caller)
					       : libdw_rules__rule(cfi, vaddr, caller);
		w->awaits |= libdw_rules__awaits(cfi);
	}
	if (w->awaits && w->patient)
		return UNWIND_NO_CFI;
	if (!rule)
		return step_without_cfi(w, cfi, vaddr - caller, caller);
	if (rule->flags & (RULE_SIGNAL | RULE_PLANTED)) /* the pc itself is the place */
		f->flags &= ~(uint32_t)FRAME_CALLER;
	if (rule->flags & RULE_SIGNAL)
		f->flags |= FRAME_SIGNAL;
	if (!regs__has(&w->regs, slowwalk__machine(w)->sp) && needs_sp(w, rule))
		return follow_fp(w, caller);
	return step_by_rule(w, rule, !caller);
}
