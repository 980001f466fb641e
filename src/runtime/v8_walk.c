// SPDX-License-Identifier: GPL-2.0-or-later
/* From a frame of V8's code to its caller (src/execution/frame-constants.h): all that have called
 * have a frame pointer. */
#include <string.h>

#include "runtime/v8.h"

#define MARKER_MAX 256 /* of a frame that runs no function; twice the number of its type */
#define ENTRY_SZ   96  /* bytes of code before a frame is made */
#define EXIT_SZ	   24  /* … after it is gone */

struct v8_walk_caller {
	uint64_t pc, sp, fp;
};

static bool v8_walk_word_at(const struct code_walk *w, uint64_t addr, uint64_t *word)
{
	return snapshot__word(w->query->stack, addr, word);
}

static bool v8_walk_is_code(const struct code_walk *w, uint64_t pc)
{
	return pc && process__find(w->query->process, pc - 1);
}

static bool v8_walk_move(struct managed_frame *f, const struct v8_walk_caller *c)
{
	f->pc = c->pc;
	f->sp = c->sp;
	f->fp = c->fp;
	return true;
}

/* ---- what a frame says --------------------------------------------------------------------------
 */

/* What is in the place of the context. */
enum v8_walk_kind {
	FRAME_OTHER, /* no frame of V8 */
	FRAME_TYPED, /* of a stub, or an entry from C++: a marker */
	FRAME_OF_FUNCTION,
};

static enum v8_walk_kind v8_walk_kind_of(const struct code_walk *w, uint64_t fp)
{
	uint64_t context;

	if (!v8_walk_word_at(w, v8__in_frame(w->layout, fp, V8_FP_CONTEXT), &context))
		return FRAME_OTHER;
	if (context && context < MARKER_MAX && !(context & 1))
		return FRAME_TYPED;
	return v8__is_object(context) ? FRAME_OF_FUNCTION : FRAME_OTHER;
}

/* Returns what may be the function's FeedbackVector: behind the offset in the bytecode, or in place
 * of it. */
static uint64_t v8_find_feedback(const struct runtime_layout *l, const struct snapshot *s,
				 uint64_t fp)
{
	uint64_t at = v8__in_frame(l, fp, V8_FP_OFFSET), value;

	if (snapshot__word(s, at, &value) && v8__is_object(value))
		return value;
	return snapshot__word(s, at - 8, &value) && v8__is_object(value) ? value : 0;
}

bool v8__bytecode(const struct runtime_layout *l, const struct snapshot *s, uint64_t fp,
		  struct code_wanted *out)
{
	uint64_t context, function, bytecode;

	if (!snapshot__word(s, v8__in_frame(l, fp, V8_FP_CONTEXT), &context) ||
	    !snapshot__word(s, v8__in_frame(l, fp, V8_FP_FUNCTION), &function) ||
	    !snapshot__word(s, v8__in_frame(l, fp, V8_FP_BYTECODE), &bytecode))
		return false;
	*out = (struct code_wanted){ .pc = bytecode - 1 + l->at[V8_BYTECODE_DATA],
				     .hint = function,
				     .other_hint = v8_find_feedback(l, s, fp) };
	return v8__is_object(context) && v8__is_object(function) && v8__is_object(bytecode);
}

/* Returns the place of a frame of the interpreter; 0: it is none. Offsets count from the value, not
 * from the object. */
static uint64_t v8_interpreted_place(const struct runtime_layout *l, const struct snapshot *s,
				     uint64_t fp)
{
	uint64_t off, bytecode;

	if (!snapshot__word(s, v8__in_frame(l, fp, V8_FP_OFFSET), &off) ||
	    !snapshot__word(s, v8__in_frame(l, fp, V8_FP_BYTECODE), &bytecode) ||
	    !v8__is_smi(off) || v8__smi(off) < (int32_t)l->at[V8_BYTECODE_DATA] - 1)
		return 0;
	return bytecode + (uint64_t)v8__smi(off);
}

uint64_t v8__place(const struct runtime_layout *l, const struct snapshot *s, const struct frame *f,
		   const struct code_blob *code)
{
	uint64_t bytecode = 0;
	uint32_t off;

	if (!code || code->kind != CODE_BASELINE)
		return v8_interpreted_place(l, s, f->sp);
	snapshot__word(s, v8__in_frame(l, f->sp, V8_FP_BYTECODE), &bytecode);
	off = code_blob__scope(code, frame__place(f) + 1, false);
	return off == CODE_NOWHERE ? 0 : bytecode - 1 + l->at[V8_BYTECODE_DATA] + off;
}

/* ---- where the leaf's frame is ------------------------------------------------------------------
 */

enum v8_walk_extent { EXTENT_WHOLE, EXTENT_SAVED_FP, EXTENT_BARE };

#define POP_FP	0x5d
#define RET	0xc3
#define RET_POP 0xc2

/* push %rbp; mov %rsp,%rbp */
static bool v8_makes_frame(const uint8_t *at, size_t left)
{
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5 };

	return left >= sizeof(code) && memcmp(at, code, sizeof(code)) == 0;
}

/* mov %rbp,%rsp; pop %rbp */
static bool v8_ends_frame(const uint8_t *at, size_t left)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0xe5, POP_FP };

	return left >= sizeof(code) && memcmp(at, code, sizeof(code)) == 0;
}

/* After the end of a frame come jumps and the removal of arguments, up to a return. */
static bool v8_is_after_frame(const uint8_t *code, size_t at)
{
	size_t least = at > EXIT_SZ ? at - EXIT_SZ : 0;

	for (size_t i = at; i >= least + 4; i--)
		if (v8_ends_frame(code + i - 4, 4))
			return true;
	return false;
}

static enum v8_walk_extent v8_walk_extent_at(const struct code_blob *b, uint64_t pc)
{
	size_t off = pc - b->start, sz = b->end - b->start;

	for (size_t i = 0; i < ENTRY_SZ && i < sz; i++) {
		if (!v8_makes_frame(b->bytes + i, sz - i))
			continue;
		if (off <= i)
			return EXTENT_BARE;
		if (off == i + 1)
			return EXTENT_SAVED_FP;
		break;
	}
	if (off >= 3 && v8_ends_frame(b->bytes + off - 3, sz - off + 3))
		return EXTENT_SAVED_FP;
	if (b->bytes[off] == RET || b->bytes[off] == RET_POP || v8_is_after_frame(b->bytes, off))
		return EXTENT_BARE;
	return EXTENT_WHOLE;
}

/* ---- one step -----------------------------------------------------------------------------------
 */

static bool v8_walk_follow_pointer(const struct code_walk *w, struct managed_frame *f)
{
	struct v8_walk_caller c = { .sp = f->fp + 16 };

	return f->fp >= f->sp && v8_walk_word_at(w, f->fp + 8, &c.pc) &&
	       v8_walk_word_at(w, f->fp, &c.fp) && v8_walk_is_code(w, c.pc) && v8_walk_move(f, &c);
}

/* The leaf has no frame, or has only saved the frame pointer. */
static bool v8_walk_leave_bare(const struct code_walk *w, struct managed_frame *f, bool saved)
{
	struct v8_walk_caller c = { .sp = f->sp + 8, .fp = f->fp };

	if (saved && !v8_walk_word_at(w, f->sp, &c.fp))
		return false;
	c.sp += saved ? 8 : 0;
	return v8_walk_word_at(w, c.sp - 8, &c.pc) && v8_walk_is_code(w, c.pc) &&
	       v8_walk_move(f, &c);
}

/* Notes the function that a frame runs by its bytecode. */
static void v8_walk_find_function(struct code_walk *w, struct managed_frame *f)
{
	const struct code_blob *b;
	struct code_wanted wanted;

	if (!v8__bytecode(w->layout, w->query->stack, f->fp, &wanted))
		return;
	b = w->find_function(w, &wanted);
	f->interprets = b && b->kind == CODE_BYTECODE;
	f->own_sp = f->interprets ? f->fp : f->own_sp;
}

/* Builtins are code of the file, without call-frame information, or a copy of it. Their leaves are
 * left by their instructions. */
static enum managed_result v8_step_builtin(struct code_walk *w, struct managed_frame *f)
{
	enum v8_walk_kind kind =
		f->caller && f->fp >= f->sp ? v8_walk_kind_of(w, f->fp) : FRAME_OTHER;

	if (kind == FRAME_OTHER)
		return MANAGED_NONE;
	f->hidden = kind == FRAME_TYPED;
	if (kind == FRAME_OF_FUNCTION && v8_interpreted_place(w->layout, w->query->stack, f->fp))
		v8_walk_find_function(w, f);
	if (w->awaits)
		return MANAGED_AWAITS;
	return v8_walk_follow_pointer(w, f) ? MANAGED_STEPPED : MANAGED_NONE;
}

static bool v8_leave_jit(struct code_walk *w, const struct code_blob *b, struct managed_frame *f)
{
	enum v8_walk_extent extent = f->caller ? EXTENT_WHOLE : v8_walk_extent_at(b, f->pc);

	if (extent != EXTENT_WHOLE && v8_walk_leave_bare(w, f, extent == EXTENT_SAVED_FP))
		return true;
	if (b->kind == CODE_BASELINE)
		v8_walk_find_function(w, f);
	return v8_walk_follow_pointer(w, f);
}

static enum managed_result v8_step_jit(struct code_walk *w, struct managed_frame *f)
{
	const struct code_blob *b = w->find(w, f->pc - f->caller);
	bool left;

	if (!w->awaits && (!b || b->kind == CODE_NONE))
		return v8_step_builtin(w, f);
	left = !w->awaits && v8_leave_jit(w, b, f);
	if (w->awaits)
		return MANAGED_AWAITS;
	return left ? MANAGED_STEPPED : MANAGED_LOST;
}

enum managed_result v8__step(struct code_walk *w, struct managed_frame *f)
{
	const struct mapping *m = process__find(w->query->process, f->pc - f->caller);

	return m && m->kind == MAPPING_FILE ? v8_step_builtin(w, f) : v8_step_jit(w, f);
}
