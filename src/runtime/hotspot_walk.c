// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks from a frame of HotSpot's code to its caller (cpu/x86/frame_x86.hpp). */
#include "runtime/hotspot.h"

#include <string.h>

#include "bpf/event.h"

/* An interpreter's frame, in bytes from its frame pointer. */
#define FRAME_SENDER_SP -8
#define FRAME_METHOD	-24
#define FRAME_BCP	-64
#define FRAME_OLD_BCP	-56 /* in JDK 8: one word less lies before it */

#define NEAR_SZ	   4096	     /* of a stub's frame, and of what a callee adds to an interpreter's */
#define FRAME_SZ   (1 << 20) /* of an interpreter's frame */
#define BARRIER_SZ 1024	     /* from the barrier to the carrier's frames */

#define REG_RAX 0
#define REG_RBX 3
#define REG_R13 13

struct hotspot_walk_caller {
	uint64_t pc, sp, fp;
};

static bool hotspot_walk_word_at(const struct code_walk *w, uint64_t addr, uint64_t *word)
{
	return snapshot__word(w->query->stack, addr, word);
}

static bool hotspot_is_own_code(const struct code_blob *b, uint64_t off)
{
	return off < b->handlers;
}

/* Returns whether Java code returns to an address: compiled code, only after a call. */
static bool hotspot_is_return(struct code_walk *w, uint64_t pc)
{
	const struct code_blob *b = w->find(w, pc - 1);

	if (!b || b->kind == CODE_NONE)
		return false;
	return b->kind != CODE_COMPILED || !hotspot_is_own_code(b, pc - b->start) ||
	       code_blob__scope(b, pc, true) != CODE_NOWHERE;
}

static bool hotspot_walk_is_in_file(const struct code_walk *w, uint64_t pc)
{
	const struct mapping *m = process__find(w->query->process, pc - 1);

	return m && m->kind == MAPPING_FILE;
}

static bool hotspot_walk_move(struct managed_frame *f, const struct hotspot_walk_caller *c)
{
	f->pc = c->pc;
	f->sp = c->sp;
	f->fp = c->fp;
	return true;
}

/* ---- frames of a known size ---------------------------------------------------------------------
 */

/* The whole frame: the caller's frame pointer is saved below the return address. */
static bool hotspot_read_full(struct code_walk *w, const struct code_blob *b, uint64_t sp,
			      struct hotspot_walk_caller *c)
{
	c->sp = sp + b->frame_sz;
	return b->frame_sz >= 16 && hotspot_walk_word_at(w, c->sp - 8, &c->pc) &&
	       hotspot_walk_word_at(w, c->sp - 16, &c->fp);
}

/* The caller of code that has made no frame, or that has only saved the frame pointer. */
static bool hotspot_walk_leave_bare(struct code_walk *w, struct managed_frame *f)
{
	struct hotspot_walk_caller c = { .sp = f->sp + 8, .fp = f->fp };

	if (hotspot_walk_word_at(w, f->sp, &c.pc) && hotspot_is_return(w, c.pc))
		return hotspot_walk_move(f, &c);
	c.sp += 8;
	return hotspot_walk_word_at(w, f->sp + 8, &c.pc) && hotspot_is_return(w, c.pc) &&
	       hotspot_walk_word_at(w, f->sp, &c.fp) && hotspot_walk_move(f, &c);
}

/* The instructions between the end of the frame and `ret`: a poll for safepoints, and a clean-up
 * of vector registers. `any`: bytes of an operand, which are not compared. */
static const struct {
	uint8_t opcode[3], opcode_sz, any;
} at_return[] = {
	{ { 0xc5, 0xf8, 0x77 }, 3, 0 }, /* vzeroupper */
	{ { 0x49, 0x3b, 0xa7 }, 3, 4 }, /* cmp disp32(%r15),%rsp */
	{ { 0x49, 0x3b, 0x67 }, 3, 1 }, /* cmp disp8(%r15),%rsp */
	{ { 0x0f, 0x87 }, 2, 4 },	/* ja */
	{ { 0x4d, 0x8b, 0x97 }, 3, 4 }, /* mov disp32(%r15),%r10 */
	{ { 0x4d, 0x8b, 0x57 }, 3, 1 }, /* mov disp8(%r15),%r10 */
	{ { 0x41, 0x85, 0x02 }, 3, 0 }, /* test %eax,(%r10) */
	{ { 0x85, 0x05 }, 2, 4 },	/* test %eax,disp32(%rip) */
};

#define PUSH_FP 0x55
#define POP_FP	0x5d
#define RET	0xc3

static size_t hotspot_skip_at_return(const uint8_t *at, size_t left)
{
	for (size_t i = 0; i < sizeof(at_return) / sizeof(*at_return); i++) {
		size_t sz = at_return[i].opcode_sz + at_return[i].any;

		if (left >= sz && !memcmp(at, at_return[i].opcode, at_return[i].opcode_sz))
			return sz;
	}
	return 0;
}

/* How much of a leaf's frame exists. */
enum hotspot_walk_extent { FRAME_WHOLE, FRAME_UNSAVED_FP, FRAME_SAVED_FP, FRAME_BARE };

/* Returns the size of `sub $grows,%rsp`, or 0 if it is not there. */
static size_t hotspot_grows_stack(const uint8_t *at, size_t left, uint32_t grows)
{
	static const uint8_t small[] = { 0x48, 0x83, 0xec }, large[] = { 0x48, 0x81, 0xec };

	if (left >= 4 && !memcmp(at, small, 3) && at[3] == grows)
		return 4;
	return left >= 7 && !memcmp(at, large, 3) && !memcmp(at + 3, &grows, 4) ? 7 : 0;
}

/* Finds the part of the prologue that has run: `push %rbp; sub $n,%rsp`, or `sub $n,%rsp; mov
 * %rbp,m(%rsp)`. The frame's size determines n. */
static enum hotspot_walk_extent hotspot_extent_at_entry(const struct code_blob *b, uint64_t off)
{
	for (uint32_t i = 0; i < b->complete; i++) {
		size_t left = b->end - b->start - i;
		size_t pushed = hotspot_grows_stack(b->bytes + i, left, b->frame_sz - 16);
		size_t sz =
			pushed ? pushed : hotspot_grows_stack(b->bytes + i, left, b->frame_sz - 8);

		if (!sz)
			continue;
		if (off >= i + sz)
			return !pushed && off == i + sz ? FRAME_UNSAVED_FP : FRAME_WHOLE;
		return pushed && off == i ? FRAME_SAVED_FP : FRAME_BARE;
	}
	return off && b->bytes[off - 1] == PUSH_FP ? FRAME_SAVED_FP : FRAME_BARE;
}

static enum hotspot_walk_extent hotspot_walk_extent_at(const struct code_blob *b, uint64_t pc)
{
	const uint8_t *at = b->bytes + (pc - b->start), *end = b->bytes + (b->end - b->start);
	size_t sz;

	if (pc - b->start < b->complete)
		return hotspot_extent_at_entry(b, pc - b->start);
	if (at < end && *at == POP_FP)
		return FRAME_SAVED_FP;
	while ((sz = hotspot_skip_at_return(at, (size_t)(end - at))) > 0)
		at += sz;
	return at < end && *at == RET ? FRAME_BARE : FRAME_WHOLE;
}

/* Code after the function's own may run when the frame has been removed. */
static bool hotspot_leads_on(struct code_walk *w, const struct code_blob *b, uint64_t sp)
{
	struct hotspot_walk_caller c;

	return hotspot_read_full(w, b, sp, &c) && hotspot_is_return(w, c.pc);
}

static bool hotspot_leave_function(struct code_walk *w, const struct code_blob *b,
				   struct managed_frame *f)
{
	enum hotspot_walk_extent extent =
		f->caller ? FRAME_WHOLE : hotspot_walk_extent_at(b, f->pc);
	struct hotspot_walk_caller c = { .sp = f->sp + 8, .fp = f->fp };

	switch (extent) {
	case FRAME_WHOLE:
		if (!f->caller && !hotspot_leads_on(w, b, f->sp) && hotspot_walk_leave_bare(w, f))
			return true;
		return hotspot_read_full(w, b, f->sp, &c) && hotspot_walk_move(f, &c);
	case FRAME_UNSAVED_FP: c.sp = f->sp + b->frame_sz; break;
	case FRAME_SAVED_FP:
		if (!hotspot_walk_word_at(w, f->sp, &c.fp))
			return false;
		c.sp += 8;
		break;
	case FRAME_BARE: break;
	}
	return hotspot_walk_word_at(w, c.sp - 8, &c.pc) && hotspot_walk_move(f, &c);
}

/* A stub's frame has the frame pointer saved at the same place. */
static bool hotspot_leave_sized(struct code_walk *w, const struct code_blob *b,
				struct managed_frame *f)
{
	struct hotspot_walk_caller c;

	if (!hotspot_read_full(w, b, f->sp, &c) || !(f->caller || hotspot_is_return(w, c.pc)))
		return !f->caller && hotspot_walk_leave_bare(w, f);
	return hotspot_walk_move(f, &c);
}

/* A compiled frame that is to be interpreted from now on returns to a handler. It has its real
 * place saved. */
static void hotspot_find_own_pc(struct code_walk *w, const struct code_blob *b,
				struct managed_frame *f)
{
	uint64_t pc;

	if (b->kind != CODE_COMPILED || !f->caller || hotspot_is_own_code(b, f->pc - b->start))
		return;
	if (hotspot_walk_word_at(w, f->sp + b->orig_pc, &pc) && pc > b->start &&
	    pc - b->start < b->handlers)
		f->own_pc = pc;
}

/* ---- frames with a frame pointer ----------------------------------------------------------------
 */

static bool hotspot_walk_read_by_pointer(struct code_walk *w, uint64_t fp,
					 struct hotspot_walk_caller *c)
{
	c->sp = fp + 16;
	return hotspot_walk_word_at(w, fp + 8, &c->pc) && hotspot_walk_word_at(w, fp, &c->fp);
}

/* Returns whether this is the whole frame of an interpreted function. */
static bool hotspot_read_interpreted(struct code_walk *w, uint64_t fp,
				     struct hotspot_walk_caller *c)
{
	uint64_t method;

	return hotspot_walk_read_by_pointer(w, fp, c) &&
	       hotspot_walk_word_at(w, fp + FRAME_SENDER_SP, &c->sp) && c->sp >= fp + 16 &&
	       c->sp - fp < FRAME_SZ && hotspot_walk_word_at(w, fp + FRAME_METHOD, &method) &&
	       method;
}

static bool hotspot_walk_is_near(const struct managed_frame *f, uint64_t sp)
{
	return sp >= f->sp && sp - f->sp <= FRAME_SZ;
}

/*
 * Finds the caller of a leaf without a frame: at the start or end of its function. At the start of
 * a call, r13 has the caller's stack pointer; at its end, rbx. The return address is then in a
 * register, or on top of the stack.
 */
static bool hotspot_walk_leave_entry(struct code_walk *w, struct managed_frame *f)
{
	struct hotspot_walk_caller c = { .fp = f->fp };
	uint64_t before, after;

	if (!f->regs)
		return false;
	before = f->regs[REG_R13];
	after = f->regs[REG_RBX];
	if (hotspot_is_return(w, before)) {
		c.pc = before;
		c.sp = after;
	} else if (hotspot_is_return(w, f->regs[REG_RAX])) {
		c.pc = f->regs[REG_RAX];
		c.sp = before;
	} else if (hotspot_walk_word_at(w, f->sp, &c.pc) && hotspot_is_return(w, c.pc)) {
		c.sp = hotspot_walk_is_near(f, before)	? before
		       : hotspot_walk_is_near(f, after) ? after
							: f->sp + 8;
	}
	return c.pc && hotspot_walk_is_near(f, c.sp) && hotspot_walk_move(f, &c);
}

/* The frame pointer is set, what follows it is not. */
static bool hotspot_leave_begun(struct code_walk *w, struct managed_frame *f)
{
	struct hotspot_walk_caller c;

	if (!f->regs || !hotspot_walk_is_near(f, f->fp) ||
	    !hotspot_walk_read_by_pointer(w, f->fp, &c) || !hotspot_is_return(w, c.pc))
		return false;
	if (f->fp == f->sp || !hotspot_walk_word_at(w, f->fp + FRAME_SENDER_SP, &c.sp))
		c.sp = f->regs[REG_R13];
	return hotspot_walk_is_near(f, c.sp) && hotspot_walk_move(f, &c);
}

static bool hotspot_leave_interpreted(struct code_walk *w, struct managed_frame *f)
{
	uint64_t least = f->caller ? 0 : -FRAME_BCP;
	struct hotspot_walk_caller c;

	if (!hotspot_walk_is_near(f, f->fp) || f->fp - f->sp < least ||
	    !hotspot_read_interpreted(w, f->fp, &c) || !hotspot_is_return(w, c.pc))
		return !f->caller && (hotspot_leave_begun(w, f) || hotspot_walk_leave_entry(w, f));
	f->own_sp = f->fp;
	f->interprets = true;
	return hotspot_walk_move(f, &c);
}

/* Compiled code also calls stubs at places of which nothing is known. */
static bool hotspot_walk_is_in_code(struct code_walk *w, uint64_t pc)
{
	const struct code_blob *b = w->find(w, pc - 1);

	return b && b->kind != CODE_NONE;
}

/* A stub that has made no frame yet, or makes none. */
static bool hotspot_leave_frameless(struct code_walk *w, struct managed_frame *f)
{
	struct hotspot_walk_caller c = { .sp = f->sp + 8, .fp = f->fp };

	return hotspot_walk_word_at(w, f->sp, &c.pc) && hotspot_walk_is_in_code(w, c.pc) &&
	       hotspot_walk_move(f, &c);
}

/* One stub has a word between its frame pointer and its return address (nmethod_entry_barrier). */
static bool hotspot_read_stub(struct code_walk *w, uint64_t fp, struct hotspot_walk_caller *c)
{
	if (!hotspot_walk_read_by_pointer(w, fp, c))
		return false;
	if (hotspot_walk_is_in_code(w, c->pc) || hotspot_walk_is_in_file(w, c->pc))
		return true;
	c->sp = fp + 24;
	return hotspot_walk_word_at(w, fp + 16, &c->pc) && hotspot_walk_is_in_code(w, c->pc);
}

static bool hotspot_leave_stub(struct code_walk *w, const struct code_blob *b,
			       struct managed_frame *f)
{
	struct hotspot_walk_caller c;

	if (b->frame_sz >= 16)
		return hotspot_leave_sized(w, b, f);
	if (!f->caller && hotspot_leave_frameless(w, f))
		return true;
	if (f->fp >= f->sp && (f->caller || f->fp - f->sp < NEAR_SZ) &&
	    hotspot_read_stub(w, f->fp, &c))
		return hotspot_walk_move(f, &c);
	return !f->caller && (hotspot_walk_leave_bare(w, f) || hotspot_walk_leave_entry(w, f));
}

/*
 * Continuation.enterSpecial() has a ContinuationEntry on its stack, below its caller's frame
 * pointer and return address (runtime/continuationEntry.hpp).
 */
enum entry_word {
	ENTRY_PARENT, /* usually NULL: of another continuation below */
	ENTRY_CONTINUATION,
	ENTRY_CHUNK,
	ENTRY_FLAGS, /* whether it is a virtual thread's; and the size of arguments, in words */
	ENTRY_FASTPATH,
	ENTRY_COUNT, /* of monitors held by the carrier, or of pins */
	ENTRY_OTHER, /* a second count, or nothing (JDK 26) */
	ENTRY_FP,
	ENTRY_PC,
	ENTRY_WORDS
};

#define ENTRY_COUNT_MAX 4096

static bool hotspot_walk_is_entry(const uint64_t e[ENTRY_WORDS], uint64_t at)
{
	return (!e[ENTRY_PARENT] || e[ENTRY_PARENT] > at) && e[ENTRY_CONTINUATION] &&
	       (uint32_t)e[ENTRY_FLAGS] <= 1 && e[ENTRY_FLAGS] >> 32 < ENTRY_COUNT_MAX &&
	       (uint32_t)e[ENTRY_COUNT] < ENTRY_COUNT_MAX;
}

/*
 * Frames of a virtual thread that go on in the heap return to the barrier. On the stack, those of
 * its carrier follow, from the caller of Continuation.enterSpecial() on. Before them lie arguments,
 * or frames that are being copied from the heap.
 */
static bool hotspot_leave_barrier(struct code_walk *w, struct managed_frame *f)
{
	uint64_t entry[ENTRY_WORDS];
	struct hotspot_walk_caller c;

	for (uint64_t at = f->sp; at < f->sp + BARRIER_SZ; at += sizeof(*entry)) {
		for (size_t i = 0; i < ENTRY_WORDS; i++)
			if (!hotspot_walk_word_at(w, at + i * sizeof(*entry), &entry[i]))
				return false;
		if (!hotspot_walk_is_entry(entry, at) || !hotspot_is_return(w, entry[ENTRY_PC]))
			continue;
		c = (struct hotspot_walk_caller){ entry[ENTRY_PC], at + sizeof(entry),
						  entry[ENTRY_FP] };
		return hotspot_walk_move(f, &c);
	}
	return false;
}

/* ---- one step -----------------------------------------------------------------------------------
 */

static bool hotspot_walk_leave(struct code_walk *w, const struct code_blob *b,
			       struct managed_frame *f)
{
	switch (b->kind) {
	case CODE_NONE:
	case CODE_JIT:
	case CODE_BASELINE:
	case CODE_BYTECODE: return false;
	case CODE_STUB: return hotspot_leave_stub(w, b, f);
	case CODE_BARRIER:
		return (!f->caller && hotspot_leave_stub(w, b, f)) || hotspot_leave_barrier(w, f);
	case CODE_INTERPRETER: return hotspot_leave_interpreted(w, f);
	case CODE_NATIVE:
	case CODE_COMPILED: break;
	}
	hotspot_find_own_pc(w, b, f);
	return hotspot_leave_function(w, b, f);
}

enum managed_result hotspot__step(struct code_walk *w, struct managed_frame *f)
{
	const struct code_blob *b = w->find(w, f->pc - f->caller);
	bool left = b && hotspot_walk_leave(w, b, f);

	if (w->awaits)
		return MANAGED_AWAITS;
	return left ? MANAGED_STEPPED : MANAGED_LOST;
}

bool hotspot__function(const struct snapshot *s, const struct frame *f, uint64_t *method)
{
	return snapshot__word(s, f->sp + FRAME_METHOD, method);
}

/* A frame that has called has it on the stack; so has the leaf, if the register has something else:
 * that is the place of its last call, or of the call that is being made. */
uint64_t hotspot__instr(const struct runtime_layout *l, const struct event *e,
			const struct snapshot *s, const struct frame *f)
{
	int64_t off = l->version == JVM_ONE_HEAP ? FRAME_OLD_BCP : FRAME_BCP;
	uint64_t bcp = 0;

	if (e)
		return e->regs[REG_R13];
	snapshot__word(s, f->sp + (uint64_t)off, &bcp);
	return bcp;
}
