// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of V8: their names, scripts and lines, and their bytecode. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/v8.h"

#define LOCALS_INLINED 75 /* more names of variables are in a table of their own */
#define LOCALS_MAX     65536
#define ANONYMOUS      "(anonymous)"
#define FILE_URL       "file://"

/* ---- names --------------------------------------------------------------------------------------
 */

/* Returns the offset of the function's name in a ScopeInfo: behind the variables. The next words
 * are a number, the name that the parser inferred, and the ends of the source up to V8 12. */
static uint32_t v8_function_name_off(const struct v8_heap *h, uint64_t scope)
{
	uint32_t first = h->layout->at[V8_SCOPE_FIRST];
	uint64_t cnt = v8__word(h, scope, 8 + 8 * h->layout->at[V8_SCOPE_LOCALS]) >> 32;
	uint64_t words = cnt < LOCALS_INLINED ? 2 * cnt : 1 + cnt;

	return cnt > LOCALS_MAX ? V8_NONE : (uint32_t)(8 + 8 * (first + words));
}

/* Appends the function's own name, or what the parser inferred. */
static bool v8_function_put_name(const struct v8_heap *h, uint64_t scope, uint32_t off,
				 struct buf *name)
{
	for (uint32_t at = off; at <= off + 16 && !name->sz; at += 16) {
		uint64_t text = v8__word(h, scope, at);

		if (v8__type(h, text) <= INT8_MAX && !v8__text(h, text, name))
			return false;
	}
	if (!name->sz)
		buf__str(name, ANONYMOUS);
	buf__u8(name, 0);
	return true;
}

#define FIRST_WITH_ENDS 5 /* index of the first variable if the ends precede it */

static void v8_read_ends(const struct v8_heap *h, uint64_t scope, uint32_t off,
			 struct v8_function *f)
{
	uint32_t at = h->layout->at[V8_SCOPE_FIRST] >= FIRST_WITH_ENDS
			      ? 8 * h->layout->at[V8_SCOPE_FIRST] - 8
			      : off + 24;
	uint64_t start = v8__word(h, scope, at), end = v8__word(h, scope, at + 8);

	if (!v8__is_smi(start) || !v8__is_smi(end) || v8__smi(start) < 0 ||
	    v8__smi(end) < v8__smi(start))
		return;
	f->start = (uint32_t)v8__smi(start);
	f->end = (uint32_t)v8__smi(end);
}

static bool v8_put_module(const struct v8_heap *h, uint64_t script, struct buf *module)
{
	uint64_t name = v8__field(h, script, V8_SCRIPT_NAME);

	if (v8__type(h, name) <= INT8_MAX && !v8__text(h, name, module))
		return false;
	if (!module->sz)
		buf__str(module, h->layout->runtime->unknown.module);
	buf__u8(module, 0);
	return true;
}

static int v8_function_set_names(const struct v8_heap *h, struct buf *texts, struct v8_function *f)
{
	const char *module = (const char *)texts[1].data;

	if (buf__err(&texts[0]) || buf__err(&texts[1]))
		return -ENOMEM;
	if (strncmp(module, FILE_URL, strlen(FILE_URL)) == 0)
		module += strlen(FILE_URL);
	return script_function__name(&f->names, h->layout->runtime->name, module,
				     (const char *)texts[0].data);
}

static int v8_function_read_names(const struct v8_heap *h, uint64_t shared, struct v8_function *f)
{
	struct buf texts[2] = { { 0 } }; /* name and module */
	uint64_t scope = v8__field(h, shared, V8_SHARED_NAME);
	uint32_t off =
		v8__has_type(h, scope, V8_TYPE_SCOPE) ? v8_function_name_off(h, scope) : V8_NONE;
	int err = -EINVAL;

	f->script = v8__field(h, shared, V8_SHARED_SCRIPT);
	if (off != V8_NONE && v8__has_type(h, f->script, V8_TYPE_SCRIPT) &&
	    v8_function_put_name(h, scope, off, &texts[0]) &&
	    v8_put_module(h, f->script, &texts[1])) {
		v8_read_ends(h, scope, off, f);
		err = h->remote->err ? -EFAULT : v8_function_set_names(h, texts, f);
	}
	buf__free(&texts[0]);
	buf__free(&texts[1]);
	return err;
}

int v8__read_shared(const struct v8_heap *h, uint64_t shared, struct v8_lines *lines,
		    struct v8_function *f)
{
	int err;

	*f = (struct v8_function){ 0 };
	if (!v8__has_type(h, shared, V8_TYPE_SHARED))
		return -ESTALE;
	err = v8_function_read_names(h, shared, f);
	if (err)
		return err;
	if (f->end)
		v8_lines__read(lines, h, f->script, f->end);
	f->names.first_line = f->end ? v8_lines__at(lines, f->start) : 0;
	return 0;
}

/* ---- bytecode -----------------------------------------------------------------------------------
 */

#define BYTECODES_MAX (4u << 20) /* bytes */

/* Returns true if the function has this bytecode: as it is, or behind its baseline code. */
static bool v8_function_runs(const struct v8_heap *h, uint64_t shared, uint64_t bytecode)
{
	uint64_t data;

	if (!v8__has_type(h, shared, V8_TYPE_SHARED))
		return false;
	data = v8__field(h, shared, V8_SHARED_DATA);
	if (v8__has_type(h, data, V8_TYPE_CODE))
		data = v8__field(h, data, V8_CODE_DEOPT);
	return data == bytecode && !h->remote->err;
}

/* Returns the SharedFunctionInfo of a JSFunction, which may have moved: the address of the new one
 * is then in the place of its map. */
static uint64_t v8_shared_of(const struct v8_heap *h, uint64_t function)
{
	uint64_t map = v8__word(h, function, 0);

	if (!(map & 1))
		function = map + 1;
	return v8__field(h, function, V8_FUNCTION_SHARED);
}

#define FEEDBACK_WORDS 8 /* of a FeedbackVector, before its slots; one is the function */

/* Returns the function that has the bytecode, or 0: the one that had it before, or that of the
 * frame, which moves while it is young, or that of its feedback, which does not move. */
static uint64_t v8_find_shared(const struct v8_heap *h, const struct code_wanted *w,
			       uint64_t bytecode)
{
	uint64_t shared[2 + FEEDBACK_WORDS] = { w->header, v8_shared_of(h, w->hint) }, found = 0;

	for (uint32_t i = 0; i < FEEDBACK_WORDS && w->other_hint; i++)
		shared[2 + i] = v8__word(h, w->other_hint, 8 * (i + 1));
	h->remote->err = false;
	for (size_t i = 0; i < 2 + FEEDBACK_WORDS && !found; i++)
		found = v8_function_runs(h, shared[i], bytecode) ? shared[i] : 0;
	h->remote->err = false;
	return found;
}

static int v8_function_add_place(const struct v8_lines *lines, uint32_t first_line, int64_t raw,
				 struct code_blob *b)
{
	struct code_scope *s = &b->scopes[b->scope_cnt];
	struct v8_position p;

	v8_position__decode((uint64_t)raw, &p);
	*s = (struct code_scope){ .caller = CODE_NOWHERE };
	s->line = p.at == V8_NOWHERE ? 0 : v8_lines__at(lines, p.at);
	s->line_in = s->line && s->line >= first_line ? s->line - first_line + 1 : 0;
	b->places[b->place_cnt++].scope = (uint32_t)b->scope_cnt++;
	return 0;
}

/* A place ends where the next one begins. */
static int v8_function_read_places(const struct v8_lines *lines, uint32_t first_line,
				   struct v8_positions *table, struct code_blob *b)
{
	size_t max = (size_t)(table->numbers.end - table->numbers.at) / 2 + 1;
	uint32_t code = (uint32_t)(b->end - b->start), data = b->complete;
	int64_t last = -1;

	b->places = calloc(max, sizeof(*b->places));
	b->scopes = calloc(max, sizeof(*b->scopes));
	if (!b->places || !b->scopes)
		return -ENOMEM;
	while (b->scope_cnt < max && v8_positions__next(table) && table->off < code - data) {
		if (table->off == last) /* the last one of several is in force */
			b->place_cnt--;
		else if (b->place_cnt)
			b->places[b->place_cnt - 1].off = data + (uint32_t)table->off;
		last = table->off;
		v8_function_add_place(lines, first_line, table->raw, b);
	}
	if (b->place_cnt)
		b->places[b->place_cnt - 1].off = code;
	return 0;
}

/* Returns the table of source positions: a field before the bytecode's numbers (V8 12 has it first,
 * earlier ones have it last). */
static uint64_t v8_positions_of(const struct v8_heap *h, uint64_t bytecode)
{
	bool first = h->layout->version >> 16 >= 12;

	return v8__word(h, bytecode, first ? 24 : 32);
}

static int v8_fill_function(const struct v8_heap *h, uint64_t bytecode, struct code_blob *b)
{
	struct v8_lines lines = { 0 };
	struct v8_function f;
	struct v8_positions table = { .has_flags = v8_positions__have_flags(h->layout) };
	uint8_t *bytes;
	size_t sz;
	int err = v8__read_shared(h, b->header, &lines, &f);

	b->scripts = err ? NULL : malloc(sizeof(*b->scripts));
	if (!b->scripts) {
		v8_lines__free(&lines);
		script_function__free(&f.names);
		return err ? err : -ENOMEM;
	}
	b->scripts[b->script_cnt++] = f.names.script;
	bytes = v8__bytes(h, v8_positions_of(h, bytecode), &sz);
	h->remote->err = false; /* it has no table yet */
	table.numbers = (struct v8_numbers){ bytes, bytes ? bytes + sz : NULL, false };
	err = bytes ? v8_function_read_places(&lines, f.names.first_line, &table, b) : 0;
	free(bytes);
	v8_lines__free(&lines);
	return err;
}

int v8__read_bytecode(const struct v8_heap *h, const struct code_wanted *w, struct code_blob *b)
{
	uint32_t data = h->layout->at[V8_BYTECODE_DATA];
	uint64_t bytecode = w->pc - data + 1;
	int32_t cnt;

	if (!v8__has_type(h, bytecode, V8_TYPE_BYTECODE))
		return -ENOENT;
	cnt = v8__smi(v8__field(h, bytecode, V8_BYTECODE_CNT));
	if (cnt <= 0 || (uint32_t)cnt > BYTECODES_MAX)
		return -ENOENT;
	b->kind = CODE_BYTECODE;
	b->start = bytecode - 1;
	b->end = b->start + data + (uint32_t)cnt;
	b->complete = data;
	b->header = v8_find_shared(h, w, bytecode);
	if (!b->header)
		return 0; /* its function is unknown */
	b->id = (uint32_t)(cnt ^ (v8__field(h, b->header, V8_SHARED_NAME) >> 3) ^
			   (v8__field(h, b->header, V8_SHARED_SCRIPT) >> 3));
	if (h->remote->err)
		return -EFAULT;
	if (b->header == w->header && b->id == w->id)
		return -EALREADY;
	return v8_fill_function(h, bytecode, b);
}
