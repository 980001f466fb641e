// SPDX-License-Identifier: GPL-2.0-or-later
/* Which functions each place of compiled code is in (src/objects/deoptimization-data.h,
 * src/codegen/source-position-table.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/v8.h"

#define INLINED_MAX   1024 /* calls that were inlined into a function */
#define POSITIONS_MAX 65536
#define LITERALS_MAX  65536

/* The place of an inlined call, and the index of the function (src/codegen/source-position.h). */
struct inlined {
	uint64_t position;
	int32_t function;
	uint32_t pad;
};

struct v8_scopes_reader {
	const struct v8_heap *heap;
	struct code_blob *blob;
	struct v8_lines lines;
	uint64_t literals;
	size_t inlined_cnt;
	struct inlined *inlined;
	/* By inlined call: scope of its place, and 1; 0: not decoded yet. Then its function. */
	uint32_t *callers, *called;
	uint64_t *shared; /* by index in .functions */
	struct v8_function *functions;
	size_t function_cnt, shared_cap, function_cap, scope_cap, place_cap;
};

/* Returns an element of DeoptimizationData. */
static uint64_t v8_scopes_element(const struct v8_heap *h, uint64_t array, uint32_t idx)
{
	uint32_t cnt = (uint32_t)v8__smi(v8__field(h, array, V8_ARRAY_CNT));

	if (idx >= cnt || cnt > LITERALS_MAX) {
		h->remote->err = true;
		return 0;
	}
	return v8__word(h, array, h->layout->at[V8_ARRAY_DATA] + 8 * idx);
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* Returns the function's index, or CODE_NOWHERE. */
static uint32_t v8_scopes_find_function(struct v8_scopes_reader *s, uint64_t shared)
{
	uint64_t *room;
	struct v8_function *functions;
	uint32_t i;

	for (i = 0; i < s->function_cnt; i++)
		if (s->shared[i] == shared)
			return i;
	room = array__room(s->shared, i, &s->shared_cap, sizeof(*room));
	s->shared = room ? room : s->shared;
	functions = array__room(s->functions, i, &s->function_cap, sizeof(*functions));
	s->functions = functions ? functions : s->functions;
	if (!room || !functions || v8__read_shared(s->heap, shared, &s->lines, &functions[i]) != 0)
		return CODE_NOWHERE;
	room[i] = shared;
	s->function_cnt++;
	return i;
}

/* A literal may be a weak reference, with one more bit. */
static uint32_t v8_scopes_function_of(struct v8_scopes_reader *s, const struct inlined *call)
{
	uint64_t shared;

	if (call->function < 0)
		return CODE_NOWHERE;
	shared = v8_scopes_element(s->heap, s->literals, (uint32_t)call->function) & ~2ull;
	return s->heap->remote->err ? CODE_NOWHERE : v8_scopes_find_function(s, shared);
}

/* ---- scopes -------------------------------------------------------------------------------------
 */

static uint32_t v8_scopes_line_of(struct v8_scopes_reader *s, uint32_t function, uint32_t position)
{
	const struct v8_function *f = &s->functions[function];

	if (position == V8_NOWHERE || position < f->start || position > f->end)
		return 0;
	v8_lines__read(&s->lines, s->heap, f->script, f->end);
	return v8_lines__at(&s->lines, position);
}

/* Returns the scope's index, or CODE_NOWHERE. */
static uint32_t v8_scopes_add_scope(struct v8_scopes_reader *s, uint32_t caller, uint32_t function,
				    uint32_t position)
{
	struct code_blob *b = s->blob;
	struct code_scope *room =
		array__room(b->scopes, b->scope_cnt, &s->scope_cap, sizeof(*room));
	uint32_t line = v8_scopes_line_of(s, function, position),
		 first_line = s->functions[function].names.first_line;

	if (!room)
		return CODE_NOWHERE;
	b->scopes = room;
	room[b->scope_cnt] = (struct code_scope){ caller, function, line, 0 };
	if (line && line >= first_line)
		room[b->scope_cnt].line_in = line - first_line + 1;
	return (uint32_t)b->scope_cnt++;
}

static uint32_t scope_in(struct v8_scopes_reader *s, const struct v8_position *p);

/* Returns the scope that an inlined call is in, or CODE_NOWHERE. A call is numbered after the one
 * that it is in. */
static uint32_t v8_caller_of(struct v8_scopes_reader *s, uint32_t call)
{
	struct v8_position p;
	uint32_t scope;

	if (!s->callers[call]) {
		v8_position__decode(s->inlined[call].position, &p);
		scope = p.inlined != V8_NOWHERE && p.inlined >= call ? CODE_NOWHERE
								     : scope_in(s, &p);
		s->callers[call] = scope == CODE_NOWHERE ? CODE_NOWHERE : scope + 1;
		s->called[call] = v8_scopes_function_of(s, &s->inlined[call]);
	}
	return s->callers[call] == CODE_NOWHERE ? CODE_NOWHERE : s->callers[call] - 1;
}

static uint32_t scope_in(struct v8_scopes_reader *s, const struct v8_position *p)
{
	uint32_t caller = CODE_NOWHERE, function = 0;

	if (p->inlined != V8_NOWHERE) {
		if (p->inlined >= s->inlined_cnt)
			return CODE_NOWHERE;
		caller = v8_caller_of(s, p->inlined);
		function = s->called[p->inlined];
		if (caller == CODE_NOWHERE || function == CODE_NOWHERE)
			return CODE_NOWHERE;
	}
	return v8_scopes_add_scope(s, caller, function, p->at);
}

/* ---- places -------------------------------------------------------------------------------------
 */

/* Begins a place. The one before ends there. */
static int v8_scopes_add_place(struct v8_scopes_reader *s, uint32_t off, uint32_t scope)
{
	struct code_blob *b = s->blob;
	struct code_place *room =
		array__room(b->places, b->place_cnt, &s->place_cap, sizeof(*room));

	if (!room)
		return -ENOMEM;
	b->places = room;
	if (b->place_cnt)
		room[b->place_cnt - 1].off = off;
	room[b->place_cnt++] = (struct code_place){ off, scope };
	return 0;
}

static int v8_scopes_read_places(struct v8_scopes_reader *s, struct v8_positions *table)
{
	uint32_t sz = (uint32_t)(s->blob->end - s->blob->start);
	struct v8_position p;
	int64_t last = -1;
	int err = 0;

	while (!err && s->blob->scope_cnt < POSITIONS_MAX && v8_positions__next(table)) {
		if (table->off >= sz)
			break;
		if (table->off == last) /* the last one of several is in force */
			s->blob->place_cnt--;
		last = table->off;
		v8_position__decode((uint64_t)table->raw, &p);
		err = v8_scopes_add_place(s, (uint32_t)table->off, scope_in(s, &p));
		s->heap->remote->err = false; /* an inlined function that cannot be read */
	}
	if (s->blob->place_cnt)
		s->blob->places[s->blob->place_cnt - 1].off = sz;
	return err;
}

static int v8_scopes_keep_scripts(struct v8_scopes_reader *s)
{
	struct code_blob *b = s->blob;

	b->scripts = calloc(s->function_cnt + 1, sizeof(*b->scripts));
	if (!b->scripts)
		return -ENOMEM;
	for (; b->script_cnt < s->function_cnt; b->script_cnt++) {
		b->scripts[b->script_cnt] = s->functions[b->script_cnt].names.script;
		s->functions[b->script_cnt].names.script = (struct script){ 0 };
	}
	return 0;
}

static uint64_t v8_own_function(const struct v8_heap *h, uint64_t deopt)
{
	uint64_t shared = v8_scopes_element(h, deopt, h->layout->at[V8_DEOPT_SHARED]);

	if (h->layout->at[V8_WRAPPER_SHARED] != V8_NONE && v8__has_type(h, shared, V8_TYPE_WRAPPER))
		shared = v8__field(h, shared, V8_WRAPPER_SHARED);
	return shared;
}

static int v8_read_inlined(struct v8_scopes_reader *s, uint64_t deopt)
{
	const struct runtime_layout *l = s->heap->layout;
	size_t sz;

	s->literals = v8_scopes_element(s->heap, deopt, l->at[V8_DEOPT_LITERALS]);
	s->inlined = (struct inlined *)v8__bytes(
		s->heap, v8_scopes_element(s->heap, deopt, l->at[V8_DEOPT_INLINED]), &sz);
	s->inlined_cnt = sz / sizeof(*s->inlined);
	if (s->inlined_cnt > INLINED_MAX)
		return -EINVAL;
	s->callers = calloc(s->inlined_cnt + 1, sizeof(*s->callers));
	s->called = calloc(s->inlined_cnt + 1, sizeof(*s->called));
	return s->callers && s->called ? 0 : -ENOMEM;
}

static int v8_scopes_read_all(struct v8_scopes_reader *s, uint64_t code)
{
	const struct v8_heap *h = s->heap;
	uint64_t deopt = v8__field(h, code, V8_CODE_DEOPT);
	struct v8_positions table = { .has_flags = v8_positions__have_flags(h->layout) };
	uint8_t *bytes;
	size_t sz;
	int err;

	if (v8_scopes_find_function(s, v8_own_function(h, deopt)) != 0 || h->remote->err)
		return -EINVAL;
	err = v8_read_inlined(s, deopt);
	h->remote->err = false;
	bytes = err ? NULL : v8__bytes(h, v8__field(h, code, V8_CODE_POSITIONS), &sz);
	if (bytes) {
		table.numbers = (struct v8_numbers){ bytes, bytes + sz, false };
		err = v8_scopes_read_places(s, &table);
	}
	free(bytes);
	h->remote->err = false;
	return err ? err : v8_scopes_keep_scripts(s);
}

int v8__read_scopes(const struct v8_heap *h, uint64_t code, struct code_blob *b)
{
	struct v8_scopes_reader s = { .heap = h, .blob = b };
	int err = v8_scopes_read_all(&s, code);

	for (size_t i = 0; i < s.function_cnt; i++)
		script_function__free(&s.functions[i].names);
	v8_lines__free(&s.lines);
	free(s.functions);
	free(s.shared);
	free(s.inlined);
	free(s.callers);
	free(s.called);
	return err;
}
