// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/interleave.h"

#include <string.h>

#include "process/process.h"

struct merging {
	const struct interleave_input *in;
	struct trace *trace;
	struct interleave_room *room;
	size_t call_cnt, frame_cnt; /* in the room; more than TRACE_MAX frames are counted only */
	size_t next;		    /* native frame that has not been taken over */
	uint64_t runner;	    /* pc of the last native frame that runs calls; 0: none */
};

#define NOWHERE	  SIZE_MAX
#define WAIT_MARK "waits"

/* Returns the index of the first native frame from `from` on that has the address in its part of
 * the stack. */
static size_t interleave_find_native(const struct trace *t, uint64_t anchor, size_t from)
{
	for (size_t i = from; anchor && i + 1 < t->cnt; i++)
		if (anchor >= t->frames[i].sp && anchor < t->frames[i + 1].sp)
			return i;
	return NOWHERE;
}

/* Returns the index of the native frame that runs the innermost calls. */
static size_t interleave_find_inner(const struct interleave_input *in, const struct trace *t)
{
	size_t inner = NOWHERE;

	for (size_t i = 0; i < in->run_cnt && inner == NOWHERE; i++)
		inner = interleave_find_native(t, in->runs[i].anchor, 0);
	return inner;
}

#define FUNCTION_MAX (64u << 10) /* bytes of a function in machine code */

/*
 * Returns the native frame before which the calls go that frame `runner` runs: that one, or a
 * callee that is the interpreter, too, or code that the runtime has made. If the innermost call is
 * a C function, its frame is the one closest to the start of that function; the frames from there
 * up to the runner are the interpreter.
 */
static size_t interleave_find_place(const struct interleave_input *in,
				    const struct runtime_run *run, const struct trace *t,
				    size_t from, size_t runner)
{
	size_t place = in->runtime->has_core && runner > from ? runner - 1 : runner;
	uint64_t closest = FUNCTION_MAX;

	for (size_t i = from; i < place; i++)
		if (t->frames[i].flags & FRAME_MANAGED)
			place = i;
	for (size_t i = from; run->entry && i < runner; i++) {
		if (t->frames[i].pc - run->entry >= closest)
			continue;
		closest = t->frames[i].pc - run->entry;
		place = i + 1;
	}
	return place;
}

/* From the place of the innermost calls on, all frames of the interpreter's file are the
 * interpreter itself, and all up to the one that runs them. The root stays, so that all stacks of a
 * program begin with the same frame. */
static void interleave_mark_interpreter(const struct interleave_input *in, struct trace *t)
{
	size_t runner = NOWHERE, run = 0;
	const struct mapping *map;

	for (; run < in->run_cnt && runner == NOWHERE; run++)
		runner = interleave_find_native(t, in->runs[run].anchor, 0);
	if (runner == NOWHERE)
		return;
	map = t->frames[runner].map;
	for (size_t i = interleave_find_place(in, &in->runs[run - 1], t, 0, runner); i < runner;
	     i++)
		t->frames[i].flags |= FRAME_INTERPRETER;
	for (size_t i = runner; map && i + 1 < t->cnt; i++)
		if (t->frames[i].map && mapping__same_file(t->frames[i].map, map))
			t->frames[i].flags |= FRAME_INTERPRETER;
}

static void interleave_put_frame(struct merging *m, const struct frame *f)
{
	if (m->frame_cnt < TRACE_MAX)
		m->room->frames[m->frame_cnt] = *f;
	m->frame_cnt++;
}

/* Adds the frame of the call that comes next in the room. Fills it in place: a compound literal
 * would be built on the stack, and its copy waits for these stores (10 % of the collector's CPU at
 * switches of a Python server). */
static void interleave_put_call(struct merging *m)
{
	if (m->frame_cnt < TRACE_MAX) {
		struct frame *f = &m->room->frames[m->frame_cnt];

		f->pc = m->call_cnt;
		f->sp = 0;
		f->map = NULL;
		f->flags = FRAME_SCRIPT;
		f->source = FRAME_BY_SAMPLE;
	}
	m->frame_cnt++;
	m->call_cnt++;
}

#define WAIT_DEPTH 8 /* frames of the C library */

static bool interleave_calls_wait(const struct frame *f, const struct elf_symbol_code *waits,
				  const struct mapping *interpreter)
{
	const struct mapping *m = f->map;
	uint64_t off;

	if (!m || m->kind != MAPPING_FILE || !f[1].map ||
	    !mapping__same_file(f[1].map, interpreter))
		return false;
	off = f->pc - (f->flags & FRAME_CALLER ? 1 : 0) - m->start + m->pgoff;
	for (size_t i = 0; i < RUNTIME_WAITS; i++)
		if (off >= waits[i].start && off < waits[i].end)
			return true;
	return false;
}

/* Both may be of the interpreter's own: a lock, and its turn. */
static bool interleave_waits_for_turn(const struct interleave_input *in, const struct trace *t,
				      size_t i)
{
	return !in->runtime->waits_for_turn ||
	       in->runtime->waits_for_turn(
		       in->layout, in->stack,
		       (struct stack_part){ t->frames[i].sp, t->frames[i + 1].sp });
}

/* The interpreter itself has called the function in which threads wait. */
static bool interleave_is_waiting(const struct merging *m, size_t inner)
{
	const struct trace *t = m->trace;

	for (size_t i = 0; m->in->waits && inner != NOWHERE && i < inner && i < WAIT_DEPTH; i++)
		if (interleave_calls_wait(&t->frames[i], m->in->waits, t->frames[inner].map))
			return interleave_waits_for_turn(m->in, t, i);
	return false;
}

static void interleave_put_wait(struct merging *m)
{
	m->room->calls[m->call_cnt] =
		(struct script_call){ &m->in->runtime->waiting, WAIT_MARK, 0, 0 };
	interleave_put_call(m);
}

static void interleave_put_natives(struct merging *m, size_t end)
{
	while (m->next < end)
		interleave_put_frame(m, &m->trace->frames[m->next++]);
}

static void interleave_put_calls(struct merging *m, const struct runtime_run *run, const char *mark)
{
	for (size_t i = run->first; i < run->first + run->cnt; i++) {
		struct script_call *call = &m->room->calls[m->call_cnt];

		if (!m->in->calls[i].script)
			continue;
		*call = m->in->calls[i];
		call->mark = call->script->name ? mark : m->in->runtime->gone;
		interleave_put_call(m);
	}
}

/* Returns the next native frame at the same place in the code as the last one that runs calls. */
static size_t interleave_find_runner(const struct merging *m)
{
	for (size_t i = m->next + 1; m->runner && i < m->trace->cnt; i++)
		if (m->trace->frames[i].pc == m->runner)
			return i;
	return NOWHERE;
}

/* Before the next frame that looks like the one that runs the calls before. Without such a frame:
 * after that one, or last if the native stack is not whole. */
static void interleave_put_by_order(struct merging *m, const struct runtime_run *run)
{
	bool whole = m->trace->status == UNWIND_ROOT || m->trace->status == UNWIND_STITCHED;
	size_t at = interleave_find_runner(m);

	if (at == NOWHERE)
		at = whole && m->next < m->trace->cnt ? m->next + 1 : m->trace->cnt;
	interleave_put_natives(m, at);
	interleave_put_calls(m, run, m->in->runtime->by_order);
}

static void interleave_put_run(struct merging *m, const struct runtime_run *run)
{
	size_t at = interleave_find_native(m->trace, run->anchor, m->next);

	if (at == NOWHERE) {
		interleave_put_by_order(m, run);
		return;
	}
	m->runner = m->trace->frames[at].pc;
	interleave_put_natives(m, interleave_find_place(m->in, run, m->trace, m->next, at));
	interleave_put_calls(m, run, m->in->runtime->name);
}

void interleave__calls(struct trace *t, const struct interleave_input *in,
		       struct interleave_room *room)
{
	struct merging m = { .in = in, .trace = t, .room = room };
	size_t inner = interleave_find_inner(in, t);

	interleave_mark_interpreter(in, t);
	if (interleave_is_waiting(&m, inner))
		interleave_put_wait(&m);
	for (size_t i = 0; i < in->run_cnt; i++)
		interleave_put_run(&m, &in->runs[i]);
	interleave_put_natives(&m, t->cnt);
	if (in->cut || m.frame_cnt > TRACE_MAX)
		t->status = UNWIND_LIMIT;
	t->cnt = m.frame_cnt < TRACE_MAX ? m.frame_cnt : TRACE_MAX;
	memcpy(t->frames, room->frames, t->cnt * sizeof(*t->frames));
	t->calls = room->calls;
}
