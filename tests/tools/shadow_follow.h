/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Updates a thread's shadow stack after an instruction or a signal. */
#ifndef TOOLS_SHADOW_FOLLOW_H
#define TOOLS_SHADOW_FOLLOW_H

#include <ucontext.h>

#include "shadow_check.h"
#include "shadow_thread.h"

/* A call has pushed the address after it; a call of that address only reads the program counter. */
static inline void follow_call(struct thread *t, const struct user_regs_struct *now)
{
	uint64_t pc;

	if (now->rsp != t->regs.rsp - 8)
		return;
	pc = proc__word(t->proc, now->rsp);
	if (pc - t->regs.rip >= 2 && pc - t->regs.rip < CODE_SZ && pc != now->rip)
		shadow__call(t->shadow, pc, now->rsp);
}

/* Drops calls of the current stack with overwritten return addresses. */
static inline void check_resumed(struct thread *t)
{
	struct shadow_chain *c = t->shadow->chain;
	size_t kept = shadow_chain__segment(c)->first;

	for (size_t i = kept; i < c->cnt; i++)
		if (c->entries[i].kind != SHADOW_CALL ||
		    proc__word(t->proc, c->entries[i].slot) == c->entries[i].pc)
			c->entries[kept++] = c->entries[i];
	c->cnt = kept;
}

static inline bool is_near(struct stepper *st, struct thread *t, uint64_t sp)
{
	const struct proc_range *r = proc__range(&st->procs, t->proc, t->regs.rsp);

	return r && sp >= r->start && sp < r->end;
}

static inline void follow_load(struct stepper *st, struct thread *t,
			       const struct user_regs_struct *now)
{
	enum code_kind kind = t->kind == CODE_SYSCALL ? CODE_LOAD : t->kind;

	if (shadow__load(t->shadow, t->regs.rsp, now->rsp, kind, is_near(st, t, now->rsp))) {
		shadow_chain__drop(t->shadow->chain, now->rsp);
		check_resumed(t);
		t->shadow->switching = true;
	}
	t->shadow->jumping = t->kind != CODE_SYSCALL;
}

/* A stack without any call: makecontext() has planted a return address. */
static inline void find_planted(struct stepper *st, struct thread *t,
				const struct user_regs_struct *now)
{
	const struct proc_range *code;
	uint64_t word;

	if (t->shadow->chain->cnt)
		return;
	word = proc__word(t->proc, now->rsp);
	code = proc__range(&st->procs, t->proc, word);
	if (code && code->code)
		shadow__plant(t->shadow, word, now->rsp);
}

static inline void follow_jump(struct stepper *st, struct thread *t,
			       const struct user_regs_struct *now)
{
	t->shadow->jumping = t->shadow->switching = false;
	if (t->shadow->aside_cnt)
		find_planted(st, t, now);
	settle_jump(st, t, now->rip);
}

/* The instruction, or a part of it, has been executed. */
static inline void follow(struct stepper *st, struct thread *t, const struct user_regs_struct *now)
{
	struct shadow *s = t->shadow;
	bool loads = t->kind == CODE_LOAD || t->kind == CODE_MOVE || t->kind == CODE_SYSCALL;

	if (t->kind == CODE_SYSCALL)
		t->proc->stale = true;
	if (loads && now->rsp != t->regs.rsp)
		follow_load(st, t, now);
	shadow__moved(s, t->regs.rsp, now->rsp, t->kind);
	if (s->holds && now->rsp == s->held.slot)
		shadow__put_back(s, now->rsp, proc__word(t->proc, now->rsp));
	if (s->jumping && (t->kind == CODE_RET || t->kind == CODE_JUMP))
		follow_jump(st, t, now);
	if (t->kind == CODE_CALL)
		follow_call(t, now);
}

/* Offset of a word of the interrupted context from a handler's stack pointer. */
#define FRAME_OF(field) (8 + offsetof(ucontext_t, field))
#define FRAME_PC	FRAME_OF(uc_mcontext.gregs[REG_RIP])
#define FRAME_SP	FRAME_OF(uc_mcontext.gregs[REG_RSP])

/* Returns true if the signal with which the thread was resumed has started a handler. */
static inline bool follow_signal(struct thread *t, const struct user_regs_struct *now)
{
	struct shadow_signal signal = { .slot = now->rsp, .pc_slot = now->rsp + FRAME_PC };
	uint64_t low, sz;

	if (!t->signal || now->rsp == t->regs.rsp || now->rdi != (uint64_t)t->signal)
		return false;
	signal.sp = proc__word(t->proc, now->rsp + FRAME_SP);
	signal.pc = proc__word(t->proc, signal.pc_slot);
	if (signal.sp != t->regs.rsp)
		return false;
	low = proc__word(t->proc, now->rsp + FRAME_OF(uc_stack.ss_sp));
	sz = proc__word(t->proc, now->rsp + FRAME_OF(uc_stack.ss_size));
	signal.restorer = proc__word(t->proc, now->rsp);
	signal.other_stack = now->rsp - low < sz && signal.sp - low >= sz;
	shadow__signal(t->shadow, &signal);
	return true;
}

#endif
