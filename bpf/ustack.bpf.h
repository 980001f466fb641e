/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user stack of a thread: from its stack pointer, minus the red zone, exactly to its top. A
 * copy that asks for more than is mapped costs 1-2 us and gives nothing (a page fault in the middle
 * fails the whole helper). So the cost of a snapshot depends on knowing the top.
 */
#ifndef USTACK_BPF_H
#define USTACK_BPF_H

#include "bpf/base.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stacktop.bpf.h"
#include "bpf/user.bpf.h"

#define BEFORE_STACK_MAX (EVENT_DETAIL_MAX + EVENT_KSTACK_MAX * sizeof(__u64)) /* of data[] */

#define LEAF_MAX 65536 /* bytes at the stack's end that may be missing; each try takes its time */

/*
 * Missing pages between frames are mostly a large buffer that has not been touched yet. Each
 * missing page takes time (a page fault), so there is a limit. If the top of a stack is not known,
 * other memory follows its missing pages, and not more of the stack.
 */
#define MISSING_MAX 32

static __always_inline bool hole__pass(volatile struct capture_progress *p, const struct event *e)
{
	__u64 addr = e->stack_addr + p->seen, left = p->want - p->seen;
	__u64 page = addr / CAPTURE_PAGE - e->stack_addr / CAPTURE_PAGE;

	OPAQUE(page);
	if (addr % CAPTURE_PAGE || p->missing == MISSING_MAX || page >= EVENT_HOLES_SZ * 8)
		return false;
	p->missing++;
	p->holes[page / 64] |= 1ULL << (page % 64);
	p->seen += left < CAPTURE_PAGE ? left : CAPTURE_PAGE;
	return true;
}

/* Copies one page, or as much of it as a bounce buffer holds. Returns whether it was the last one.
 */
static __always_inline long page__copy(__u64 i, const struct user *u)
{
	const __u64 most = user__bounces(u) ? CAPTURE_BOUNCE_SZ : CAPTURE_PAGE;
	struct event *e = u->event;
	volatile struct capture_progress *p = &slot__of(e)->progress;
	__u64 off = p->at + p->got, addr = e->stack_addr + p->seen;
	__u64 step = most - (addr & (most - 1));

	if (step > p->want - p->seen)
		step = p->want - p->seen;
	if (step == 0)
		return 1;
	OPAQUE(step);
	OPAQUE(off); /* one bound for both parts: older verifiers forget those of spilled numbers */
	if (step > most || off > BEFORE_STACK_MAX + cfg.stack_sz)
		return 1;
	if (!user__read(u, e->data + off, step, addr)) {
		p->got += step;
		p->seen += step;
		p->end = p->seen;
		return 0;
	}
	if (!p->got && i <= LEAF_MAX / most) {
		e->stack_addr += step;
		p->want -= step;
		return 0;
	}
	return !hole__pass(p, e);
}

static long page__copy_next(__u64 i, struct user *u)
{
	return page__copy(i, u);
}

/*
 * Copies page by page and leaves out missing pages. The copy begins at the first page that is
 * present. Before that are the red zone or memory that the leaf has not touched yet, for example if
 * the stack grows by the very page fault that is recorded. The progress is kept in memory, where
 * the verifier knows nothing of it, so it checks each iteration once. If it were in a register, 6.1
 * would check the following iterations again and again, and give up at 128 KiB. With bpf_loop()
 * (5.17) the verifier checks one iteration for all: loading takes a tenth of the time.
 */
static __always_inline __u64 stack__copy_pages(const struct user *u, struct event *e, __u64 at,
					       __u64 want)
{
	const __u64 per_page = user__bounces(u) ? CAPTURE_PAGE / CAPTURE_BOUNCE_SZ : 1;
	const __u64 most = (cfg.stack_sz / CAPTURE_PAGE + 2) * per_page;
	volatile struct capture_progress *p = &slot__of(e)->progress;

	__builtin_memset((void *)p, 0, sizeof(*p));
	p->want = want;
	p->at = at;
	p->missing = slot__of(e)->top_known ? 0 : MISSING_MAX;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(most, page__copy_next, (void *)u, 0);
		return p->got;
	}
	for (__u64 i = 0; i < most; i++) {
		if (page__copy(i, u))
			break;
	}
	return p->got;
}

/* Appends the list of missing pages to the bytes of a stack with holes. Returns the size of both.
 */
static __always_inline __u64 holes__add(struct event *e, __u64 at, __u64 got)
{
	struct capture_progress *p = &slot__of(e)->progress;

	if (p->end == got)
		return got;
	e->flags |= EVENT_F_HOLES;
	__builtin_memcpy(e->data + at + got, p->holes, EVENT_HOLES_SZ);
	return p->end;
}

/* In Go's m (runtime/runtime2.go). Up to Go 1.24 this word is 0 on 64-bit machines. Since then it
 * is the thread's id, and the word with the m's goroutine is one word earlier. */
#define M_PROCID 64
#define M_CURG	 184

/* Returns the m if the thread is on the own stack (g0) of that m, or 0 if none is known. In the end
 * of runtime.systemstack, g is the goroutine already. */
static __always_inline __u64 go__machine(const struct user *u, struct capture_goroutine *c,
					 __u64 sp)
{
	if (c->here < CAPTURE_PAGE ||
	    user__read(u, &c->m, sizeof(c->m), c->here + offsetof(struct capture_goroutine, m)) ||
	    user__read(u, &c->g, sizeof(c->g), c->m))
		return 0;
	if (c->g == c->here)
		return c->m;
	if (!c->away || !goroutine__top(u, c->g, sp))
		return 0;
	c->here = c->g;
	return c->m;
}

/* Accepts a g only if it points back to its m. */
static __always_inline bool goroutine__read(const struct user *u, struct capture_goroutine *c,
					    __u64 g, __u64 m)
{
	return g >= CAPTURE_PAGE && g != c->here &&
	       !user__read(u, c, offsetof(struct capture_goroutine, fp), g) && c->m == m &&
	       c->g == g && c->sp - c->lo < c->hi - c->lo;
}

/* Finds the goroutine that an m works for. Returns false if it cannot be determined. If there is
 * none, its hi is 0. */
static __always_inline bool goroutine__find(const struct user *u, struct capture_goroutine *c,
					    __u64 m)
{
	bool old;

	if (user__read(u, &c->curg, sizeof(c->curg), m + M_PROCID))
		return false;
	old = !c->curg;
	if (user__read(u, &c->curg, sizeof(c->curg), m + M_CURG + old * sizeof(__u64)))
		return false;
	if (!c->curg) {
		c->sp = c->pc = c->fp = c->link = c->hi = 0;
		return true;
	}
	if (!goroutine__read(u, c, c->curg, m))
		return false;
	c->fp = old ? c->rest[2] : c->rest[1];
	c->link = old ? c->rest[1] : c->rest[0];
	return true;
}

/* Finds the stack that the thread was on before the current one. */
static __always_inline bool before__find(const struct user *u, struct capture_slot *slot)
{
	struct capture_goroutine *c = &slot->goroutine;
	__u64 m;

	if (user__bounces(u))
		return false;
	if (is_on_signal_stack(u->task, slot->event.regs[EVENT_REG_SP]))
		return c->hi;
	m = go__machine(u, c, slot->event.regs[EVENT_REG_SP]);
	return m && goroutine__find(u, c, m);
}

/* Appends the stack that the thread came from after the first `at` bytes of data[]. Returns its
 * size in bytes with its header. */
static __always_inline __u64 switched__copy(const struct user *u, struct event *e, __u64 at)
{
	struct capture_goroutine *c = &slot__of(e)->goroutine;
	struct event_switched *s;
	__u64 sz;

	OPAQUE(at);
	if (at > CAPTURE_BEFORE_SWITCHED(cfg.stack_sz) || !before__find(u, slot__of(e)))
		return 0;
	sz = c->hi - c->sp;
	if (sz > EVENT_SWITCHED_MAX) {
		sz = EVENT_SWITCHED_MAX;
		e->flags |= EVENT_F_TRUNCATED;
	}
	OPAQUE(sz);
	s = (void *)(e->data + at);
	if (sz > EVENT_SWITCHED_MAX || (sz && user__read(u, s->bytes, sz, c->sp)))
		return 0;
	s->pc = c->pc;
	s->sp = c->sp;
	s->fp = c->fp;
	s->link = c->link;
	s->sz = sz;
	e->flags |= EVENT_F_SWITCHED;
	return sizeof(*s) + sz;
}

/* ---- return addresses ---------------------------------------------------------------------------
 */

#define RETURNS_MAX 64 /* of a thread: MAX_URETPROBE_DEPTH */

/*
 * A return probe, of any program, replaces the return address of a call on the stack by that of a
 * page in which the kernel is called (kernel/events/uprobes.c). The kernel's list has the original
 * ones, innermost call first. Entries of calls that were left by longjmp() stay in it for a while:
 * so only the address of that page is replaced. The state is in the slot, because the programs have
 * no room left on their stacks.
 */

/* Returns the bytes of missing pages before this offset of a stack with holes. */
static __always_inline __u64 holes__before(const struct event *e, __u64 off)
{
	const struct capture_progress *p = &slot__of((struct event *)e)->progress;
	__u64 page = (e->stack_addr + off) / CAPTURE_PAGE - e->stack_addr / CAPTURE_PAGE, cnt = 0;

	for (__u64 i = 0; i < EVENT_HOLES_SZ / sizeof(__u64); i++) {
		__u64 word = p->holes[i];

		if (page < (i + 1) * 64)
			word &= page > i * 64 ? (1ULL << (page - i * 64)) - 1 : 0;
		cnt += bits_in(word);
	}
	return cnt * CAPTURE_PAGE;
}

/* Puts one original address into the copied stack. */
static __always_inline void return__restore(struct event *e, const struct capture_returns *r)
{
	const struct return_instance *instance = (const void *)r->next;
	__u64 off = BPF_CORE_READ(instance, stack) - e->stack_addr, *word;
	__u64 original = BPF_CORE_READ(instance, orig_ret_vaddr);

	if (off >= EVENT_STACK_MAX)
		return;
	if (e->flags & EVENT_F_HOLES)
		off -= holes__before(e, off);
	if (off + sizeof(*word) > e->ustack_sz)
		return;
	off += r->at;
	OPAQUE(off);
	if (off > BEFORE_STACK_MAX + cfg.stack_sz)
		return;
	word = (void *)(e->data + off);
	if (*word == r->page)
		*word = original;
}

/* Returns whether there are no more. */
static long return__restore_next(__u64 i, const struct user *u)
{
	struct event *e = u->event;
	struct capture_returns *r = &slot__of(e)->returns;
	const struct return_instance *instance = (const void *)r->next;

	if (!instance)
		return 1;
	return__restore(e, r);
	r->next = (__u64)BPF_CORE_READ(instance, next);
	return 0;
}

/* After the first `at` bytes of data[] is the copied stack. Before 5.17 stacks end at such an
 * address. */
static __always_inline void returns__restore(struct user *u, __u64 at)
{
	struct capture_returns *r = &slot__of(u->event)->returns;
	struct task_struct *task = u->task;
	const struct xol_area *area;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) ||
	    !bpf_core_field_exists(task->utask) || !task->utask)
		return;
	r->next = (__u64)task->utask->return_instances;
	area = u->mm->uprobes_state.xol_area;
	if (!r->next || !area)
		return;
	r->page = area->vaddr;
	r->at = at;
	bpf_loop(RETURNS_MAX, return__restore_next, u, 0);
}

#define ABOVE_MAX 16384 /* bytes of a stack above Ruby's VM stack */

/* Marks the pages from page `first` of the snapshot to page `last` as missing. */
static __always_inline void holes__mark(struct event *e, __u64 at, __s64 first, __s64 last)
{
	volatile struct capture_progress *p = &slot__of(e)->progress;

	for (__s64 i = 0; i < (__s64)(EVENT_HOLES_SZ / sizeof(__u64)); i++) {
		__s64 from = first - 64 * i, to = last - 64 * i;

		from = from < 0 ? 0 : from;
		to = to > 64 ? 64 : to;
		p->holes[i] = from < to ? ~0ULL >> ((64 - (to - from)) & 63) << (from & 63) : 0;
	}
	__builtin_memcpy(e->data + at, (const void *)p->holes, EVENT_HOLES_SZ);
	e->flags |= EVENT_F_HOLES;
}

/*
 * The stack of a Ruby thread has the VM's stack of 1 MB below its first functions. Copies what is
 * below and above it. Returns the size in bytes, or 0 if the stack is not like that.
 */
static __always_inline __u64 stack__copy_around(const struct user *u, struct event *e, __u64 at)
{
	const struct capture_calls *calls = &slot__of(e)->calls;
	__u64 tp = task__thread_pointer(u->task), base = e->stack_addr & -CAPTURE_PAGE;
	__u64 above = calls->end & -CAPTURE_PAGE, second = tp - above;
	__u64 below = (calls->low + CAPTURE_PAGE - 1) & -CAPTURE_PAGE,
	      first = below - e->stack_addr;

	if (cfg.stack_sz < 2 * ABOVE_MAX || user__bounces(u) || above < below ||
	    above - base >= EVENT_HOLES_SZ * 8 * CAPTURE_PAGE - ABOVE_MAX)
		return 0;
	OPAQUE(first);
	OPAQUE(second);
	if (at > BEFORE_STACK_MAX || first > cfg.stack_sz - ABOVE_MAX || second > ABOVE_MAX ||
	    user__read(u, e->data + at, first, e->stack_addr))
		return 0;
	at += first;
	OPAQUE(at);
	if (at > BEFORE_STACK_MAX + cfg.stack_sz - ABOVE_MAX ||
	    user__read(u, e->data + at, second, above))
		return 0;
	holes__mark(e, at + second, (below - base) / CAPTURE_PAGE, (above - base) / CAPTURE_PAGE);
	return first + second;
}

/* Returns whether Ruby's VM stack follows the C stack: in threads but the first, and in fibers. */
static __always_inline bool has_ruby_above(struct event *e)
{
	const struct capture_calls *calls = &slot__of(e)->calls;

	return cfg.runtimes && calls->next && calls->runtime.frame_sz &&
	       calls->low - e->stack_addr < cfg.stack_sz;
}

/* The C stack of a fiber ends where its VM stack begins. */
static __always_inline __u64 fiber__top(struct capture_slot *slot)
{
	slot->top_known = true;
	slot->goroutine.here = slot->goroutine.hi = slot->goroutine.away = 0;
	return slot->calls.low;
}

/* Appends the stack and related data after the first `at` bytes of data[]. Returns their size in
 * bytes. */
static __always_inline __u64 stack__copy(struct task_struct *task, struct event *e, __u64 at,
					 __u64 how)
{
	const struct pt_regs *regs = (const void *)bpf_task_pt_regs(task);
	struct user u = { .task = task, .mm = task->mm, .how = how, .event = e };
	__u64 top, want, got, spans;

	if (user__bounces(&u))
		u.bounce = slot__bounce(e);
	e->stack_addr = regs->sp - EVENT_RED_ZONE;
	if (cfg.runtimes)
		calls__find(&u, e);
	if (has_ruby_above(e)) {
		got = stack__copy_around(&u, e, at);
		if (got) {
			e->ustack_sz = got;
			got += EVENT_HOLES_SZ;
			return got + calls__copy(&u, e, at + got);
		}
		top = fiber__top(slot__of(e));
	} else {
		top = stack__top(&u, slot__of(e), regs);
	}
	want = top - e->stack_addr;
	got = want;
	if (got > cfg.stack_sz)
		got = cfg.stack_sz;
	OPAQUE(got);
	if (at > BEFORE_STACK_MAX || got > cfg.stack_sz)
		return 0;
	spans = got;
	if (user__bounces(&u) || user__read(&u, e->data + at, got, e->stack_addr)) {
		got = stack__copy_pages(&u, e, at, got);
		OPAQUE(got);
		if (got > cfg.stack_sz)
			return 0;
		spans = holes__add(e, at, got);
	}
	if (e->stack_addr + spans != top)
		e->flags |= EVENT_F_TRUNCATED;
	e->ustack_sz = got;
	if (!ARCH_LINK_REGISTER)
		returns__restore(&u, at);
	if (e->flags & EVENT_F_HOLES)
		got += EVENT_HOLES_SZ;
	got += switched__copy(&u, e, at + got);
	if (cfg.runtimes)
		got += calls__copy(&u, e, at + got);
	return got;
}

#endif
