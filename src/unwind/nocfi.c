// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/nocfi.h"

#define ENTRY_MAX 16 /* bytes of stack that a program's first instructions may use */

/* ---- return addresses ---- */

static bool nocfi_is_return_address(struct slowwalk *w, uint64_t addr)
{
	return slowwalk__is_behind(w, addr, elf_code__after_call, true);
}

/* Returns whether goroutines return to this address. */
static bool nocfi_is_in_goexit(struct slowwalk *w, uint64_t addr)
{
	struct frame caller = { addr, .map = slowwalk__map(w, addr - 1), .flags = FRAME_CALLER };
	uint64_t vaddr;
	struct libdw_rules *cfi =
		caller.map && caller.map->file ? slowwalk__find_cfi(w, &caller, &vaddr) : NULL;

	return cfi && libdw_rules__is_go(cfi) &&
	       slowwalk__is_behind(w, addr, elf_code__in_goexit, false);
}

/* ---- by frame pointer ---- */

/* Counts the frames before the current one that were found by frame pointer. */
static size_t nocfi_count_chain(const struct slowwalk *w)
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
static bool nocfi_is_at_top(const struct slowwalk *w)
{
	return regs__has(&w->regs, slowwalk__machine(w)->fp) && slowwalk__fp(w) == 0 &&
	       !w->sample->truncated && slowwalk__snapshot_end(w) - slowwalk__sp(w) <= ENTRY_MAX;
}

#define CHAIN_MIN 2 /* frames: a single frame pointer that leads to 0 may be chance */

/*
 * The frame pointer is 0 in the outermost frame (psABI 3.4.1, AAPCS64 6.4.6), but code that uses
 * the register for other values may have any number in it. Therefore 0 counts only at the end of a
 * chain, and at the top of the stack.
 */
static enum unwind_status nocfi_end_of_chain(const struct slowwalk *w, bool caller)
{
	return caller && (nocfi_count_chain(w) >= CHAIN_MIN || nocfi_is_at_top(w)) ? UNWIND_ROOT
										   : UNWIND_NO_CFI;
}

/* The frame pointer points outside the snapshot. After a chain it surely is a frame pointer. */
static enum unwind_status nocfi_off_snapshot(const struct slowwalk *w, uint64_t fp)
{
	if (w->sample->truncated && fp + 16 > slowwalk__snapshot_end(w))
		return UNWIND_TRUNCATED;
	if (slowwalk__lacks(w, fp) || slowwalk__lacks(w, fp + 8))
		return UNWIND_TRUNCATED;
	return nocfi_count_chain(w) ? UNWIND_OTHER_STACK : UNWIND_NO_CFI;
}

enum unwind_status no_cfi__follow_fp(struct slowwalk *w, bool caller)
{
	const struct machine *m = slowwalk__machine(w);
	uint64_t fp = slowwalk__fp(w), saved, pc;

	if (!regs__has(&w->regs, m->fp))
		return UNWIND_NO_CFI;
	if (fp == 0)
		return nocfi_end_of_chain(w, caller);
	if (!slowwalk__is_stack_like(w, fp))
		return UNWIND_NO_CFI;
	if (!snapshot__word(w->stack, fp, &saved) || !snapshot__word(w->stack, fp + 8, &pc))
		return nocfi_off_snapshot(w, fp);
	if (fp < slowwalk__sp(w))
		return UNWIND_NO_CFI;
	pc &= w->code_bits;
	if (pc == 0)
		return nocfi_count_chain(w) ? UNWIND_ROOT : UNWIND_NO_CFI;
	if (!slowwalk__map(w, pc - 1))
		return UNWIND_NO_CFI;
	w->source = caller ? FRAME_BY_POINTER : FRAME_BY_LEAF_POINTER;
	w->regs.v[m->fp] = saved;
	w->regs.valid = m->caller & ~(machine__links(m) ? 1ull << m->sp : 0);
	return slowwalk__return_to(w, pc, fp + 16);
}

/* Finds the return address of a leaf without a frame, and its caller's stack pointer. */
static bool nocfi_find_return_address(const struct slowwalk *w, uint64_t *pc, uint64_t *sp)
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
static bool nocfi_is_new_thread(struct slowwalk *w)
{
	return regs__has(&w->regs, RESULT_REG) && w->regs.v[RESULT_REG] == 0 &&
	       slowwalk__is_behind(w, slowwalk__pc(w), elf_code__after_clone, false);
}

/* ---- by instructions ---- */

/* Finds the caller's stack pointer; returns false if it is unknown. */
static bool nocfi_find_code_cfa(const struct slowwalk *w, const struct packed_rule *rule,
				uint64_t *cfa)
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
static enum unwind_status nocfi_step_by_code(struct slowwalk *w, const struct packed_rule *rule)
{
	const struct machine *m = slowwalk__machine(w);
	uint64_t cfa, pc, fp = slowwalk__fp(w);

	if (rule->how == PACKED_ROOT)
		return regs__has(&w->regs, m->fp) && fp == 0 ? UNWIND_ROOT : SLOWWALK_STAY;
	if (!nocfi_find_code_cfa(w, rule, &cfa) || !snapshot__word(w->stack, cfa - 8, &pc))
		return SLOWWALK_STAY;
	if (rule->fp != PACKED_FP_KEPT &&
	    !snapshot__word(w->stack, cfa + 8 * (uint64_t)(int64_t)rule->fp, &fp))
		return SLOWWALK_STAY;
	if (!nocfi_is_return_address(w, pc) && !nocfi_is_in_goexit(w, pc))
		return SLOWWALK_STAY;
	w->regs.v[m->fp] = fp;
	w->regs.valid = m->caller & ~(rule->flags & PACKED_FP_LOST ? 1ull << m->fp : 0);
	w->source = FRAME_BY_CODE;
	return slowwalk__return_to(w, pc, cfa);
}

/* ---- by the stack's contents ---- */

#define TRAMPOLINE_ARENA 65536 /* bytes that CPython fills with copies */

/*
 * With -X perf, CPython 3.12 and 3.13 enter each function by its own copy of this code, without
 * CFI: [endbr64;] sub $8, %rsp; call *%rcx; add $8, %rsp; ret (Python/asm_trampoline.S). From 3.14
 * on it has a frame pointer. Each place is behind the call; 3.13 aligns the copies.
 */
static bool nocfi_is_place_in_trampoline(const struct slowwalk *w)
{
	static const struct {
		uint8_t distance, place;
	} copies[] = { { 11, 6 }, { 15, 10 }, { 16, 6 }, { 16, 10 } };
	uint64_t off = (slowwalk__pc(w) - w->map->start) % TRAMPOLINE_ARENA;
	bool found = false;

	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		found |= off % copies[i].distance == copies[i].place;
	return found && w->map->kind == MAPPING_ANON && !machine__links(slowwalk__machine(w));
}

static bool nocfi_has_frame_pointer(struct slowwalk *w)
{
	uint64_t fp = slowwalk__fp(w), pc;

	return fp >= slowwalk__sp(w) && snapshot__word(w->stack, fp + 8, &pc) &&
	       nocfi_is_return_address(w, pc);
}

/* The interpreter calls the trampoline, which calls the interpreter. */
static bool nocfi_is_in_trampoline(struct slowwalk *w, uint64_t *pc)
{
	const struct trace *t = w->trace;
	const struct mapping *callee = t->cnt > 1 ? t->frames[t->cnt - 2].map : NULL, *caller;

	if (!nocfi_is_place_in_trampoline(w) || !callee || !callee->file ||
	    nocfi_has_frame_pointer(w) || !snapshot__word(w->stack, slowwalk__sp(w) + 8, pc))
		return false;
	caller = slowwalk__map(w, *pc - 1);
	return caller && caller->file == callee->file && nocfi_is_return_address(w, *pc);
}

static enum unwind_status nocfi_leave_trampoline(struct slowwalk *w, uint64_t pc)
{
	w->source = FRAME_BY_CODE;
	return slowwalk__return_to(w, pc, slowwalk__sp(w) + 16);
}

/*
 * A leaf without CFI (JIT code, hand-written assembly) often has no frame: the frame pointer is
 * then its caller's, and the return address is at the stack pointer, or in the link register.
 */
static enum unwind_status nocfi_guess_caller(struct slowwalk *w, bool caller)
{
	uint64_t pc, sp;

	if (!caller && nocfi_find_return_address(w, &pc, &sp) && nocfi_is_return_address(w, pc)) {
		w->source = FRAME_BY_RETURN_ADDRESS;
		return slowwalk__return_to(w, pc, sp);
	}
	if (!caller && nocfi_is_new_thread(w))
		return UNWIND_ROOT;
	if (caller && nocfi_is_in_trampoline(w, &pc))
		return nocfi_leave_trampoline(w, pc);
	return no_cfi__follow_fp(w, caller);
}

enum unwind_status no_cfi__leave_entry(struct slowwalk *w)
{
	uint64_t pc, sp;

	if (!nocfi_find_return_address(w, &pc, &sp) || !nocfi_is_return_address(w, pc))
		return UNWIND_NO_CFI;
	w->source = FRAME_BY_RETURN_ADDRESS;
	return slowwalk__return_to(w, pc, sp);
}

enum unwind_status no_cfi__leave_no_code(struct slowwalk *w)
{
	enum unwind_status status;

	if (slowwalk__pc(w) >= ADDRESS_MIN && slowwalk__pc(w) < slowwalk__machine(w)->stack_end)
		return UNWIND_NO_MAP; /* the mapping may have been created since */
	status = no_cfi__leave_entry(w);
	return status == UNWIND_NO_CFI ? UNWIND_NO_MAP : status;
}

enum unwind_status no_cfi__step(struct slowwalk *w, struct libdw_rules *cfi, uint64_t place,
				bool caller)
{
	const struct packed_rule *rule;
	enum unwind_status status;

	if (!caller && w->map->file && nocfi_is_at_top(w))
		return UNWIND_ROOT;
	if (caller && nocfi_is_in_goexit(w, slowwalk__pc(w)))
		return UNWIND_ROOT;
	rule = cfi ? libdw_rules__code_rule(cfi, place) : NULL;
	w->coded = rule;
	w->awaits |= cfi && libdw_rules__awaits(cfi);
	if (w->awaits && w->patient)
		return UNWIND_NO_CFI;
	status = rule ? nocfi_step_by_code(w, rule) : SLOWWALK_STAY;
	return status == SLOWWALK_STAY ? nocfi_guess_caller(w, caller) : status;
}
