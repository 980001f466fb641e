// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/expand.h"

#include <string.h>

#define STUB_MARK "interpreter"

struct expanding {
	const struct expand_input *in;
	const struct runtime *runtime;
	const struct trace *trace;
	struct expand_room *room;
	size_t cnt;  /* frames; more than TRACE_MAX are counted only */
	bool awaits; /* a function is being read */
};

static void expand_put_frame(struct expanding *x, const struct frame *f)
{
	if (x->cnt < TRACE_MAX)
		x->room->frames[x->cnt] = *f;
	x->cnt++;
}

/* The call of the native frame `f`, or one that was inlined in it. */
static void expand_put_call(struct expanding *x, const struct frame *f, const struct script_call *c)
{
	if (x->cnt < TRACE_MAX)
		x->room->calls[x->cnt] = *c;
	expand_put_frame(
		x, &(struct frame){
			   .pc = x->cnt, .sp = f->sp, .flags = FRAME_SCRIPT, .source = f->source });
}

static void expand_put_unknown(struct expanding *x, const struct frame *f)
{
	expand_put_call(x, f,
			&(struct script_call){ &x->runtime->unknown, x->runtime->gone, 0, 0 });
}

static void expand_put_simple(struct expanding *x, const struct frame *f, const struct code_blob *b,
			      const char *mark)
{
	if (b->script_cnt)
		expand_put_call(x, f, &(struct script_call){ &b->scripts[0], mark, 0, 0 });
	else
		expand_put_unknown(x, f);
}

/* ---- interpreted --------------------------------------------------------------------------------
 */

/* A register has the leaf's position; other frames have it on the stack. */
static bool expand_find_line(const struct expanding *x, const struct script_function *f, size_t i,
			     struct script_call *out)
{
	const struct runtime_layout *l = codes__layout(x->in->codes, x->in->process);
	const struct frame *frame = &x->trace->frames[i];
	const struct snapshot *stack = x->in->stack;
	const struct event *leaf = i ? NULL : x->in->event;

	if (!f->sz) /* native */
		return true;
	if ((!leaf || !script_function__line(f, l->runtime->code->instr(l, leaf, stack, frame),
					     &out->line)) &&
	    !script_function__line(f, l->runtime->code->instr(l, NULL, stack, frame), &out->line))
		return false;
	out->line_in = out->line ? out->line - f->first_line + 1 : 0;
	return true;
}

/* Returns false if nothing is known of what the frame runs. */
static bool expand_put_bytecode(struct expanding *x, size_t i, const struct code_blob *made)
{
	const struct frame *f = &x->trace->frames[i];
	const struct runtime_code *code = x->runtime->code;
	const struct runtime_layout *l = codes__layout(x->in->codes, x->in->process);
	struct script_call out = { .mark = made ? code->baseline : code->interpreted };
	const struct code_blob *b = NULL;
	struct code_wanted wanted;
	uint32_t scope;

	if (code->bytecode && code->bytecode(l, x->in->stack, f->sp, &wanted))
		b = codes__at(x->in->codes, x->in->process, wanted.pc);
	if (!b || b->kind != CODE_BYTECODE)
		return false;
	if (!b->script_cnt) {
		expand_put_unknown(x, f);
		return true;
	}
	scope = code_blob__scope(b, code->place(l, x->in->stack, f, made) + 1, false);
	if (scope != CODE_NOWHERE) {
		out.line = b->scopes[scope].line;
		out.line_in = b->scopes[scope].line_in;
	}
	out.script = &b->scripts[0];
	expand_put_call(x, f, &out);
	return true;
}

static void expand_put_interpreted(struct expanding *x, size_t i)
{
	const struct frame *f = &x->trace->frames[i];
	struct script_call out = { .mark = x->runtime->code->interpreted };
	const struct script_function *function = NULL;
	uint64_t at;

	if (x->runtime->code->function(x->in->stack, f, &at))
		function = scripts__find(x->in->scripts, &(struct event_call){ .code = at }, NULL,
					 &x->awaits);
	if (!function || !expand_find_line(x, function, i, &out)) {
		expand_put_unknown(x, f);
		return;
	}
	out.script = &function->script;
	expand_put_call(x, f, &out);
}

/* ---- compiled -----------------------------------------------------------------------------------
 */

/* Returns true for a frame that Java code has called: it returns to a place that is known. */
static bool expand_was_calling(const struct expanding *x, size_t i)
{
	const struct frame *callee = i ? &x->trace->frames[i - 1] : NULL;
	const struct code_blob *b;

	if (!callee || !(callee->flags & FRAME_MANAGED) || x->runtime->code->bytecode)
		return false;
	if (callee->flags & FRAME_INTERPRETS)
		return true;
	b = codes__at(x->in->codes, x->in->process, frame__place(callee));
	return b && (b->kind == CODE_COMPILED || b->kind == CODE_NATIVE);
}

static uint32_t expand_scope_of(const struct expanding *x, const struct code_blob *b, size_t i)
{
	const struct frame *f = &x->trace->frames[i];

	return code_blob__scope(b, f->flags & FRAME_CALLER ? f->pc : f->pc + 1,
				expand_was_calling(x, i));
}

static void expand_put_compiled(struct expanding *x, const struct code_blob *b, size_t i)
{
	const struct frame *f = &x->trace->frames[i];
	const struct runtime_code *code = x->runtime->code;
	uint32_t scope = expand_scope_of(x, b, i);

	if (scope == CODE_NOWHERE && expand_was_calling(x, i))
		expand_put_unknown(x, f);
	else if (scope == CODE_NOWHERE)
		expand_put_simple(x, f, b, code->compiled);
	for (; scope != CODE_NOWHERE; scope = b->scopes[scope].caller) {
		const struct code_scope *s = &b->scopes[scope];
		const char *mark = s->caller == CODE_NOWHERE ? code->compiled : code->inlined;

		expand_put_call(x, f,
				&(struct script_call){ &b->scripts[s->function], mark, s->line,
						       s->line_in });
	}
}

/* Code that is not known: it is gone, or a copy of code of the runtime's file. */
static void expand_put_copy(struct expanding *x, size_t i)
{
	const struct frame *f = &x->trace->frames[i];

	if (f->flags & FRAME_INTERPRETS && expand_put_bytecode(x, i, NULL))
		return;
	if (f->flags & FRAME_INTERPRETER)
		expand_put_frame(x, f);
	else
		expand_put_unknown(x, f);
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static void expand_put_managed(struct expanding *x, size_t i)
{
	const struct frame *f = &x->trace->frames[i];
	const struct code_blob *b = codes__at(x->in->codes, x->in->process, frame__place(f));

	if (f->map && f->map->kind == MAPPING_FILE) {
		if (!(f->flags & FRAME_INTERPRETS) || !expand_put_bytecode(x, i, NULL))
			expand_put_frame(x, f);
		return;
	}
	switch (b ? b->kind : CODE_NONE) {
	case CODE_NONE: expand_put_copy(x, i); break;
	case CODE_JIT:
	case CODE_STUB: expand_put_simple(x, f, b, STUB_MARK); break;
	case CODE_BARRIER: expand_put_simple(x, f, b, x->runtime->code->elsewhere); break;
	case CODE_INTERPRETER:
		if (f->flags & FRAME_INTERPRETS)
			expand_put_interpreted(x, i);
		else
			expand_put_simple(x, f, b, STUB_MARK);
		break;
	case CODE_BYTECODE: break;
	case CODE_BASELINE:
		if (!(f->flags & FRAME_INTERPRETS) || !expand_put_bytecode(x, i, b))
			expand_put_unknown(x, f);
		break;
	case CODE_COMPILED: expand_put_compiled(x, b, i); break;
	case CODE_NATIVE: expand_put_simple(x, f, b, x->runtime->code->native); break;
	}
}

/* The leaf is a builtin: no call-frame information led to its caller. */
static bool expand_is_builtin_leaf(const struct trace *t)
{
	uint32_t source = t->cnt > 1 ? t->frames[1].source : FRAME_BY_CFI;

	return t->cnt > 1 && t->frames[0].map && t->frames[0].map->kind == MAPPING_FILE &&
	       t->frames[1].flags & FRAME_MANAGED &&
	       (source == FRAME_BY_CODE || source == FRAME_BY_RETURN_ADDRESS ||
		source == FRAME_BY_LEAF_POINTER);
}

bool expand__frames(struct trace *t, const struct expand_input *in, bool last,
		    struct expand_room *room)
{
	struct expanding x = { .in = in, .trace = t, .room = room };

	x.runtime = codes__layout(in->codes, in->process)->runtime;
	if (x.runtime->code->bytecode && expand_is_builtin_leaf(t))
		t->frames[0].flags |= FRAME_INTERPRETER;
	for (size_t i = 0; i < t->cnt; i++) {
		if (t->frames[i].flags & FRAME_MANAGED)
			expand_put_managed(&x, i);
		else
			expand_put_frame(&x, &t->frames[i]);
	}
	if (x.awaits && !last)
		return false;
	if (x.cnt > TRACE_MAX)
		t->status = UNWIND_LIMIT;
	t->cnt = x.cnt < TRACE_MAX ? x.cnt : TRACE_MAX;
	memcpy(t->frames, room->frames, t->cnt * sizeof(*t->frames));
	t->calls = room->calls;
	return true;
}
