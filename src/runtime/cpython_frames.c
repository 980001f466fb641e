// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython up to 3.10: each call has an activation of _PyEval_EvalFrameDefault() of its own, so the
 * native frames of that function are the calls, in the same order.
 */
#include <string.h>

#include "process/process.h"
#include "runtime/cpython_layout.h"

#define CALLERS_MAX 8

/* Return addresses of calls of the function. The compiler may have put a part of it elsewhere: its
 * frame is recognised by its caller. */
struct evaluator {
	const struct elf_symbol_code *code;
	const struct mapping *map;
	uint64_t callers[CALLERS_MAX];
	size_t cnt;
};

static bool is_in_code(const struct frame *f, const struct elf_symbol_code *code)
{
	const struct mapping *m = f->map;
	const char *slash = m && m->kind == MAPPING_FILE && m->path ? strrchr(m->path, '/') : NULL;
	uint64_t off;

	if (!slash || !cpython.evaluator.may_have(slash + 1))
		return false;
	off = f->pc - (f->flags & FRAME_CALLER ? 1 : 0) - m->start + m->pgoff;
	return off >= code->start && off < code->end;
}

static bool knows_caller(const struct evaluator *e, uint64_t pc)
{
	for (size_t i = 0; i < e->cnt; i++)
		if (e->callers[i] == pc)
			return true;
	return false;
}

static void find_callers(struct evaluator *e, const struct trace *t)
{
	for (size_t i = 0; i + 1 < t->cnt && e->cnt < CALLERS_MAX; i++) {
		if (!is_in_code(&t->frames[i], e->code) || knows_caller(e, t->frames[i + 1].pc))
			continue;
		e->map = t->frames[i].map;
		e->callers[e->cnt++] = t->frames[i + 1].pc;
	}
}

static bool is_activation(const struct evaluator *e, const struct trace *t, size_t i)
{
	const struct frame *f = &t->frames[i];

	if (is_in_code(f, e->code))
		return true;
	return i + 1 < t->cnt && f->map && e->map && mapping__same_file(f->map, e->map) &&
	       knows_caller(e, f[1].pc);
}

/* The outermost call belongs to the outermost activation: the innermost one may not have made, or
 * may have left, its call. */
static void assign_from_root(const struct evaluator *e, const struct runtime_calls *c,
			     struct runtime_run *runs)
{
	size_t at = c->trace->cnt;

	for (size_t i = c->cnt; i-- > 0;) {
		while (at > 0 && !is_activation(e, c->trace, at - 1))
			at--;
		runs[i] = (struct runtime_run){ i, 1, at ? c->trace->frames[--at].sp : 0, 0 };
	}
}

static void assign_from_leaf(const struct evaluator *e, const struct runtime_calls *c,
			     struct runtime_run *runs)
{
	size_t at = 0;

	for (size_t i = 0; i < c->cnt; i++) {
		while (at < c->trace->cnt && !is_activation(e, c->trace, at))
			at++;
		runs[i] = (struct runtime_run){ i, 1, 0, 0 };
		if (at < c->trace->cnt)
			runs[i].anchor = c->trace->frames[at++].sp;
	}
}

size_t cpython__split_by_evaluator(const struct runtime_calls *c, struct runtime_run *runs)
{
	struct evaluator e = { .code = &c->layout->evaluator };
	bool whole = c->trace->status == UNWIND_ROOT || c->trace->status == UNWIND_STITCHED;

	find_callers(&e, c->trace);
	(whole && !c->cut ? assign_from_root : assign_from_leaf)(&e, c, runs);
	return c->cnt;
}
