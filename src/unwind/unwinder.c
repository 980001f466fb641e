// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include "unwind/cfi.h"
#include "unwind/flatwalk.h"

/* The kernel's signal frame with all of AVX-512 and AMX, and the red zone above it. */
#define SIGNAL_FRAME_MAX 32768

#define ENTRY_MAX 16 /* bytes of stack that a program's first instructions may have in use */

#define ADDRESS_MIN 0x10000 /* vm.mmap_min_addr's default */
#define ADDRESS_END (1ull << 47)

#define GO_ON UNWIND_STATUS_CNT /* a step's result: there is a next frame */

struct walk {
	const struct process *process;
	struct trace *trace;
	struct snapshot snapshot;
	struct regs regs;	   /* of the frame in hand */
	const struct mapping *map; /* of the frame in hand */
	uint64_t low;	    /* where the stack begins: before the snapshot when that lacks pages */
	uint64_t signal_sp; /* the signal frame's rsp when the frame in hand was interrupted */
	bool chained;	    /* the frame in hand was found by following rbp */
	bool truncated;
};

struct unwinder {
	struct walk walk;
	struct flatwalk *flat;
	struct unwinder_stats stats;
};

struct unwinder *unwinder__new(struct table_cache *cache)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->flat = flatwalk__new(cache);
	if (u->flat)
		return u;
	unwinder__free(u);
	return NULL;
}

void unwinder__free(struct unwinder *u)
{
	if (!u)
		return;
	flatwalk__free(u->flat);
	free(u);
}

/* ---- where addresses are ---- */

static uint64_t snapshot_end(const struct walk *w)
{
	return w->snapshot.addr + w->snapshot.sz;
}

/* Or before it, in what the leaf has not touched yet. */
static bool in_snapshot(const struct walk *w, uint64_t sp)
{
	return sp - w->low <= snapshot_end(w) - w->low;
}

static bool is_stack_like(uint64_t addr)
{
	return addr % 8 == 0 && addr >= ADDRESS_MIN && addr < ADDRESS_END;
}

static bool holds(const struct mapping *m, uint64_t addr)
{
	return m && addr >= m->start && addr < m->end;
}

static const struct mapping *find_map(const struct walk *w, uint64_t addr)
{
	return holds(w->map, addr) ? w->map : process__find(w->process, addr);
}

/* The link-time address and the tables of a pc; NULL when the mapping has none. */
static struct cfi *find_cfi(const struct mapping *m, uint64_t pc, bool caller, uint64_t *vaddr)
{
	if (!m->file || !elf_file__vaddr(m->file, pc - caller - m->start + m->pgoff, vaddr))
		return NULL;
	*vaddr += caller;
	return cfi__of(m->file);
}

/* ---- without CFI ---- */

static bool is_return_address(const struct walk *w, uint64_t addr)
{
	const struct mapping *m = find_map(w, addr - 1);
	uint64_t vaddr;
	struct cfi *cfi;

	if (!m)
		return false;
	cfi = find_cfi(m, addr, true, &vaddr);
	return !cfi || cfi__after_call(cfi, vaddr);
}

static enum unwind_status return_to(struct walk *w, uint64_t pc, uint64_t sp)
{
	w->regs.v[DWARF_RIP] = pc;
	w->regs.v[DWARF_RSP] = sp;
	return GO_ON;
}

/*
 * rbp is 0 in the outermost frame (psABI 3.4.1), but code that does not use it as frame pointer may
 * have any number there: 0 is believed at the end of a chain, and in a file, which has code without
 * CFI only where it starts.
 */
static enum unwind_status end_of_chain(const struct walk *w, bool caller)
{
	return caller && (w->chained || w->map->file) ? UNWIND_ROOT : UNWIND_NO_CFI;
}

/* rbp points outside the snapshot; after a chain it surely is a frame pointer. */
static enum unwind_status off_snapshot(const struct walk *w, uint64_t rbp)
{
	if (w->truncated && rbp + 16 > snapshot_end(w))
		return UNWIND_TRUNCATED;
	return w->chained ? UNWIND_OTHER_STACK : UNWIND_NO_CFI;
}

/* A frame that `push %rbp; mov %rsp,%rbp` made. */
static enum unwind_status follow_rbp(struct walk *w, bool caller)
{
	uint64_t rbp = w->regs.v[DWARF_RBP], saved, pc;

	if (!regs__has(&w->regs, DWARF_RBP))
		return UNWIND_NO_CFI;
	if (rbp == 0)
		return end_of_chain(w, caller);
	if (!is_stack_like(rbp))
		return UNWIND_NO_CFI;
	if (!snapshot__word(&w->snapshot, rbp, &saved) ||
	    !snapshot__word(&w->snapshot, rbp + 8, &pc))
		return off_snapshot(w, rbp);
	if (rbp < w->regs.v[DWARF_RSP])
		return UNWIND_NO_CFI;
	if (pc == 0)
		return UNWIND_ROOT;
	if (!find_map(w, pc - 1))
		return UNWIND_NO_CFI;
	w->chained = true;
	w->regs.v[DWARF_RBP] = saved;
	w->regs.valid = 1u << DWARF_RBP | 1u << DWARF_RSP | 1u << DWARF_RIP;
	return return_to(w, pc, rbp + 16);
}

/* The kernel starts a program with rbp 0 at the very top of its stack (psABI 3.4.1): ld.so's _start
 * has no CFI. */
static bool at_entry(const struct walk *w)
{
	return w->map->file && w->regs.v[DWARF_RBP] == 0 && !w->truncated &&
	       snapshot_end(w) - w->regs.v[DWARF_RSP] <= ENTRY_MAX;
}

/*
 * A leaf without CFI (JIT code, hand-written assembly) has often no frame of its own: rbp is its
 * caller's then, and the return address is where rsp points.
 */
static enum unwind_status step_without_cfi(struct walk *w, bool caller)
{
	uint64_t sp = w->regs.v[DWARF_RSP], pc;

	if (!caller && at_entry(w))
		return UNWIND_ROOT;
	if (!caller && snapshot__word(&w->snapshot, sp, &pc) && is_return_address(w, pc))
		return return_to(w, pc, sp + 8);
	return follow_rbp(w, caller);
}

/* ---- with CFI ---- */

/* rsp is outside the snapshot: it was restored by a signal frame, or a CFA changed stacks. */
static enum unwind_status left_snapshot(const struct walk *w)
{
	uint64_t sp = w->regs.v[DWARF_RSP];
	bool above = sp > snapshot_end(w) && is_stack_like(sp);

	if (w->signal_sp && sp - w->signal_sp > SIGNAL_FRAME_MAX)
		return UNWIND_OTHER_STACK;
	if (w->truncated && above)
		return UNWIND_TRUNCATED;
	return w->trace->cnt > 1 && is_stack_like(sp) ? UNWIND_OTHER_STACK : UNWIND_BAD_MEMORY;
}

/* Why the return address could not be read. */
static enum unwind_status failed(const struct walk *w, const struct rule *rule, uint64_t cfa)
{
	bool by_rsp = rule->cfa.how == RULE_REG && rule->cfa.reg == DWARF_RSP;

	if (!cfa || !is_stack_like(cfa))
		return w->truncated && !cfa ? UNWIND_TRUNCATED : UNWIND_BAD_MEMORY;
	if (w->truncated && cfa > snapshot_end(w))
		return UNWIND_TRUNCATED;
	return in_snapshot(w, cfa) || by_rsp ? UNWIND_BAD_MEMORY : UNWIND_OTHER_STACK;
}

/* The stack pointer must grow; only a leaf may have none of the stack to itself. */
static bool moved(const struct walk *w, uint64_t old_sp, bool leaf)
{
	uint64_t sp = w->regs.v[DWARF_RSP];

	return sp > old_sp || (leaf && sp == old_sp) || !in_snapshot(w, sp);
}

static enum unwind_status step_by_rule(struct walk *w, const struct rule *rule, bool leaf)
{
	uint64_t sp = w->regs.v[DWARF_RSP], cfa;
	bool signal = rule->flags & RULE_SIGNAL;
	int err;

	if (rule->flags & RULE_ROOT)
		return UNWIND_ROOT;
	if (rule->flags & RULE_SWITCH)
		return UNWIND_OTHER_STACK;
	if (!in_snapshot(w, sp))
		return left_snapshot(w);
	err = rule__apply(rule, &w->snapshot, &w->regs, &cfa);
	if (err)
		return failed(w, rule, cfa);
	if (w->regs.v[DWARF_RIP] == 0 && !signal)
		return UNWIND_ROOT;
	w->signal_sp = signal ? sp : 0;
	w->chained = false;
	return moved(w, sp, leaf && !signal) ? GO_ON : UNWIND_NO_PROGRESS;
}

/* ---- the loop ---- */

static enum unwind_status step(struct walk *w, struct frame *f, uint32_t *next_flags)
{
	bool caller = f->flags & FRAME_CALLER;
	const struct rule *rule = NULL;
	uint64_t vaddr;
	struct cfi *cfi;

	f->map = w->map = find_map(w, frame__place(f));
	if (!f->map)
		return UNWIND_NO_MAP;
	cfi = find_cfi(f->map, f->pc, caller, &vaddr);
	if (cfi)
		rule = cfi__rule(cfi, vaddr, caller);
	if (!rule) {
		*next_flags = FRAME_CALLER | FRAME_FP;
		return step_without_cfi(w, caller);
	}
	if (rule->flags & RULE_SIGNAL) /* nothing was called there: the pc itself is the place */
		f->flags = (f->flags & ~(uint32_t)FRAME_CALLER) | FRAME_SIGNAL;
	*next_flags = rule->flags & RULE_SIGNAL ? 0 : FRAME_CALLER;
	return step_by_rule(w, rule, !caller);
}

/* The long way: full rules, all registers. */
static enum unwind_status walk_on(struct walk *w, uint32_t flags)
{
	enum unwind_status status = GO_ON;
	struct trace *t = w->trace;

	while (status == GO_ON && t->cnt < TRACE_MAX) {
		struct frame *f = &t->frames[t->cnt++];

		*f = (struct frame){ .pc = w->regs.v[DWARF_RIP], .flags = flags };
		status = step(w, f, &flags);
	}
	return status == GO_ON ? UNWIND_LIMIT : status;
}

static void begin(struct walk *w, const struct event *event)
{
	memcpy(w->regs.v, event->regs, sizeof(w->regs.v));
	w->regs.valid = (1u << EVENT_REG_CNT) - 1;
	w->trace->cnt = 0;
}

/* Goes on behind what the short way found; the first frame has all registers. */
static enum unwind_status walk_behind(struct walk *w, const struct flatwalk_state *s)
{
	w->map = s->map;
	w->regs.v[DWARF_RIP] = s->pc;
	w->regs.v[DWARF_RSP] = s->sp;
	w->regs.v[DWARF_RBP] = s->fp;
	if (s->caller)
		w->regs.valid = 1u << DWARF_RBP | 1u << DWARF_RSP | 1u << DWARF_RIP;
	return walk_on(w, s->caller ? FRAME_CALLER : 0);
}

static enum unwind_status walk(struct unwinder *u, const struct event *event)
{
	struct walk *w = &u->walk;
	struct flatwalk_state s = { .process = w->process,
				    .snapshot = &w->snapshot,
				    .trace = w->trace,
				    .pc = event->regs[DWARF_RIP],
				    .sp = event->regs[DWARF_RSP],
				    .fp = event->regs[DWARF_RBP] };
	enum unwind_status status;

	begin(w, event);
	switch (flatwalk__go(u->flat, &s)) {
	case FLATWALK_ROOT: u->stats.flat++; return UNWIND_ROOT;
	case FLATWALK_NO_FILE: u->stats.partly++; return walk_behind(w, &s);
	case FLATWALK_ODD: break;
	}
	u->stats.odd++;
	w->trace->cnt = 0;
	status = walk_on(w, 0);
	flatwalk__ask(u->flat, w->trace);
	return status;
}

/* A 32-bit process: where it was, and no more. */
static enum unwind_status compat(struct walk *w, const struct event *event)
{
	uint32_t flags;

	begin(w, event);
	w->trace->frames[w->trace->cnt++] = (struct frame){ .pc = w->regs.v[DWARF_RIP] };
	step(w, &w->trace->frames[0], &flags);
	return UNWIND_COMPAT;
}

void unwinder__walk(struct unwinder *u, const struct process *process, const struct event *event,
		    struct trace *trace)
{
	uint64_t sp = event->regs[DWARF_RSP];

	u->walk = (struct walk){
		.process = process,
		.trace = trace,
		.snapshot = { event->stack_addr, event->ustack_sz, event__ustack(event) },
		.low = sp < event->stack_addr ? sp : event->stack_addr,
		.truncated = event->flags & EVENT_F_TRUNCATED,
	};
	trace->status = event->flags & EVENT_F_COMPAT ? compat(&u->walk, event) : walk(u, event);
}

void unwinder__collect(struct unwinder *u)
{
	tables__collect(flatwalk__tables(u->flat));
}

void unwinder__settle(struct unwinder *u)
{
	tables__wait(flatwalk__tables(u->flat));
}

void unwinder__stats(const struct unwinder *u, struct unwinder_stats *s)
{
	*s = u->stats;
	tables__stats(flatwalk__tables(u->flat), &s->tables);
}
