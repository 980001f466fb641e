/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the top of the user stack that a thread is on: that of a first thread, a POSIX thread or a
 * goroutine, or a signal stack. */
#ifndef STACKTOP_BPF_H
#define STACKTOP_BPF_H

#include "bpf/base.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/user.bpf.h"

/* Returns whether the thread pointer belongs to a thread descriptor on top of its thread's stack.
 * The descriptor of a first thread is somewhere else, perhaps right above a coroutine's stack. */
static __always_inline bool is_thread_descriptor(const struct user *u, __u64 tp)
{
	__u64 first = 0;

	return !user__read(u, &first, sizeof(first), tp) && is_thread_descriptor_of(tp, first);
}

/* Go: a g begins with {stack.lo, stack.hi} (runtime/runtime2.go). Returns 0 if `g` is not a g for
 * this sp. */
static __always_inline __u64 goroutine__top(const struct user *u, __u64 g, __u64 sp)
{
	struct {
		__u64 lo, hi;
	} stack = {};

	if (g < CAPTURE_PAGE || g % sizeof(__u64) || user__read(u, &stack, sizeof(stack), g))
		return 0;
	return sp - stack.lo < stack.hi - stack.lo ? stack.hi : 0;
}

/* g is in a register in Go code (ABIInternal), otherwise where ARCH_G_BELOW_TP indicates. */
static __always_inline __u64 go__top(const struct user *u, struct capture_goroutine *c, __u64 g,
				     __u64 tp, __u64 sp)
{
	__u64 top;

	c->here = g;
	top = goroutine__top(u, g, sp);
	c->away = !top;
	if (!ARCH_G_BELOW_TP || top || !tp)
		return top;
	if (user__read(u, &c->here, sizeof(c->here), tp - sizeof(c->here)))
		return 0;
	top = goroutine__top(u, c->here, sp);
	c->away = !top;
	return top;
}

/* The g of the first thread is in the program's data. */
static __always_inline bool may_be_go(const struct mm_struct *mm, __u64 mark)
{
	return mark - mm->start_code < mm->start_brk - mm->start_code;
}

struct vma_end {
	__u64 addr;
};

static long vma_end__see(struct task_struct *task, struct vm_area_struct *vma, struct vma_end *end)
{
	(void)task;
	end->addr = vma->vm_end;
	return 0;
}

/* Returns the end of the mapping that contains sp, or 0. The last resort, because it is slow: it
 * takes the mmap lock and releases it in a separate interrupt. */
static __always_inline __u64 mapping__top(struct task_struct *task, __u64 sp)
{
	struct vma_end end = { 0 };

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		bpf_find_vma(task, sp, vma_end__see, &end, 0);
	return end.addr;
}

/*
 * Remembers the g of a thread of which the top of the stack is known without it: with cgo, the C
 * library provides the stacks of Go's threads. Only threads with a signal stack pay for the read.
 * All threads of Go have one, few others do.
 */
static __always_inline void go__note(const struct user *u, struct capture_goroutine *c, __u64 tp)
{
	if (!ARCH_G_BELOW_TP || !tp || !u->task->sas_ss_size ||
	    user__read(u, &c->here, sizeof(c->here), tp - sizeof(c->here)))
		c->here = 0;
}

/* Returns the end of the thread's or goroutine's stack, or 0 if it is not known. */
static __always_inline __u64 thread__top(const struct user *u, struct capture_goroutine *c, __u64 g,
					 __u64 sp)
{
	struct task_struct *task = u->task;
	__u64 tp = task__thread_pointer(task);
	__u64 main_top = u->mm->start_stack, main_sz = u->mm->stack_vm * ARCH_PAGE;

	if (main_top - sp <= main_sz || main_top - sp <= cfg.stack_sz) {
		if (may_be_go(u->mm, ARCH_GO_MARK(tp, g)))
			go__top(u, c, g, tp, sp);
		else
			go__note(u, c, tp);
		return main_top;
	}
	if (task->pid != task->tgid && tp - sp <= cfg.stack_sz && is_thread_descriptor(u, tp)) {
		go__note(u, c, tp);
		return tp;
	}
	return go__top(u, c, g, tp, sp);
}

static __always_inline bool is_on_signal_stack(const struct task_struct *task, __u64 sp)
{
	return sp - task->sas_ss_sp < task->sas_ss_size;
}

/* Reads the registers that the thread had before a signal handler on a signal stack. The signal
 * frame names its signal stack, which must be this one. */
static __always_inline bool signal__read(const struct user *u, struct capture_signal *s)
{
	__u64 stack = u->task->sas_ss_sp, sz = u->task->sas_ss_size;
	__u64 frame = signal_frame__at(stack + sz, cfg.signal_fpu_sz);

	return !user__read(u, s, sizeof(*s), frame + SIGFRAME_SIGNAL) && s->stack == stack &&
	       s->stack_sz == sz;
}

/* Returns the end of the stack that contains sp, or a distant address if it is not known. On a
 * signal stack, also sets where the thread was interrupted (c->pc, fp, sp) and the end of the
 * interrupted stack (c->hi; 0: not known). */
static __always_inline __u64 stack__top(struct user *u, struct capture_slot *slot,
					const struct pt_regs *regs)
{
	struct task_struct *task = u->task;
	struct capture_goroutine *c = &slot->goroutine;
	__u64 sp = regs->sp, g = REGS_G(regs), top;

	slot->top_known = true;
	c->here = c->hi = c->away = 0;
	if (is_on_signal_stack(task, sp)) {
		if (!signal__read(u, &slot->signal))
			return task->sas_ss_sp + task->sas_ss_size;
		c->pc = slot->signal.pc;
		c->fp = slot->signal.fp;
		c->link = 0; /* the handler's own frame has it */
		c->sp = sp = slot->signal.sp;
		g = slot->signal.g;
	}
	top = thread__top(u, c, g, sp);
	if (is_on_signal_stack(task, regs->sp)) {
		c->hi = top;
		return task->sas_ss_sp + task->sas_ss_size;
	}
	if (!top)
		top = mapping__top(task, sp);
	slot->top_known = top;
	return top ? top : sp + EVENT_STACK_MAX + CAPTURE_PAGE;
}

#endif
