// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/activations.h"

#include <string.h>

#include "process/process.h"

#define CALLERS_MAX 8

/* Return addresses of calls of the function. The compiler may have put a part of it elsewhere: its
 * frame is recognised by its caller. Code that the runtime has made runs in a frame of it. */
struct evaluator {
	const struct runtime_layout *layout;
	const struct mapping *map;
	uint64_t callers[CALLERS_MAX];
	size_t cnt;
};

static bool activations_is_in_code(const struct frame *f, const struct runtime_layout *l)
{
	const struct mapping *m = f->map;
	const char *slash = m && m->kind == MAPPING_FILE && m->path ? strrchr(m->path, '/') : NULL;
	uint64_t off;

	if (!slash || !l->runtime->evaluator.may_have(slash + 1))
		return false;
	off = f->pc - (f->flags & FRAME_CALLER ? 1 : 0) - m->start + m->pgoff;
	return off >= l->evaluator.start && off < l->evaluator.end;
}

static bool activations_knows_caller(const struct evaluator *e, uint64_t pc)
{
	for (size_t i = 0; i < e->cnt; i++)
		if (e->callers[i] == pc)
			return true;
	return false;
}

static void activations_find_callers(struct evaluator *e, const struct trace *t)
{
	for (size_t i = 0; i + 1 < t->cnt && e->cnt < CALLERS_MAX; i++) {
		if (!activations_is_in_code(&t->frames[i], e->layout) ||
		    activations_knows_caller(e, t->frames[i + 1].pc))
			continue;
		e->map = t->frames[i].map;
		e->callers[e->cnt++] = t->frames[i + 1].pc;
	}
}

static bool activations_is_activation(const struct evaluator *e, const struct trace *t, size_t i)
{
	const struct frame *f = &t->frames[i];

	if (f->flags & FRAME_MANAGED || activations_is_in_code(f, e->layout))
		return true;
	return i + 1 < t->cnt && f->map && e->map && mapping__same_file(f->map, e->map) &&
	       activations_knows_caller(e, f[1].pc);
}

/* The outermost run belongs to the outermost activation: the innermost one may not have made, or
 * may have left, its call. */
static void activations_assign_from_root(const struct evaluator *e, const struct trace *t,
					 struct runtime_run *runs, size_t cnt)
{
	size_t at = t->cnt;

	for (size_t i = cnt; i-- > 0;) {
		while (at > 0 && !activations_is_activation(e, t, at - 1))
			at--;
		runs[i].anchor = at ? t->frames[--at].sp : 0;
	}
}

static void activations_assign_from_leaf(const struct evaluator *e, const struct trace *t,
					 struct runtime_run *runs, size_t cnt)
{
	size_t at = 0;

	for (size_t i = 0; i < cnt; i++) {
		while (at < t->cnt && !activations_is_activation(e, t, at))
			at++;
		runs[i].anchor = at < t->cnt ? t->frames[at++].sp : 0;
	}
}

void activations__assign(const struct runtime_calls *c, struct runtime_run *runs, size_t cnt)
{
	struct evaluator e = { .layout = c->layout };
	const struct trace *t = c->trace;
	bool whole = t->status == UNWIND_ROOT || t->status == UNWIND_STITCHED;

	activations_find_callers(&e, t);
	if (whole && !c->cut)
		activations_assign_from_root(&e, t, runs, cnt);
	else
		activations_assign_from_leaf(&e, t, runs, cnt);
}
