// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/stackrows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/model/stackwait.h"
#include "stacksexport/web/jsonout.h"

#define SUFFIX	  "stack"
#define ID_DIGITS 16

/* Returns the length of "sleep_" for "sleep_stack", and -1 for names of other columns. */
static int stackrows_prefix_sz(const char *name)
{
	size_t sz = strlen(name), suffix = strlen(SUFFIX);

	return sz < suffix || sz > 40 || strcmp(name + sz - suffix, SUFFIX) != 0
		       ? -1
		       : (int)(sz - suffix);
}

static bool stackrows_parse_id(const char *text, uint64_t *id)
{
	char digits[ID_DIGITS + 1], *end;

	memcpy(digits, text, ID_DIGITS);
	digits[ID_DIGITS] = '\0';
	*id = strtoull(digits, &end, 16);
	return strspn(digits, "0123456789abcdef") == ID_DIGITS;
}

bool stack_ids__parse(struct stack_ids *s, const char *text, size_t sz)
{
	*s = (struct stack_ids){ 0 };
	while (sz >= ID_DIGITS && s->cnt < STACK_IDS_MAX &&
	       stackrows_parse_id(text, &s->ids[s->cnt])) {
		s->cnt++;
		text += ID_DIGITS;
		sz -= ID_DIGITS;
		if (!sz)
			return true;
		if (*text++ != '-')
			return false;
		sz--;
	}
	return false;
}

struct place_names {
	struct frame_text where, caller;
};

static struct frame_text stackrows_function_name(const struct stackset *s, uint32_t frame)
{
	const struct function *f = stackset__function(s, stackset__frame_at(s, frame)->function);

	return stackset__text(s, f->name);
}

/* Prefers the user stack, like the table of functions. Must hold the lock. */
static struct place_names stackrows_place_of(const struct stackset *s, const struct stack_ids *ids)
{
	struct place_names names = { { "[no stack]", sizeof("[no stack]") - 1 }, { "", 0 } };
	size_t cnt;
	const uint32_t *frames = stackset__find(s, ids->cnt ? ids->ids[ids->cnt - 1] : 0, &cnt);
	struct waiting w = stack_wait__find(s, frames, cnt);

	if (w.waits_in == WAITING_NONE)
		return names;
	names.where =
		stackrows_function_name(s, frames[w.call == WAITING_NONE ? w.waits_in : w.call]);
	if (w.call != WAITING_NONE && w.call != w.waits_in)
		names.caller = stackrows_function_name(s, frames[w.waits_in]);
	return names;
}

struct stackrows_row {
	struct model *model;
	duckdb_result *result;
	duckdb_data_chunk chunk;
};

static void stackrows_show_name(struct buf *out, int sz, const char *prefix, const char *what)
{
	char key[64];

	snprintf(key, sizeof(key), "%.*s%s", sz, prefix, what);
	json_out__key(out, key);
}

/* Appends X_where and X_caller for the column X_stack, and nothing for other columns. */
static void stackrows_show_place(const struct stackrows_row *r, idx_t column, idx_t row,
				 struct buf *out)
{
	struct cells c = cells__on(duckdb_data_chunk_get_vector(r->chunk, column));
	const char *name = duckdb_column_name(r->result, column), *text;
	int prefix = stackrows_prefix_sz(name);
	struct place_names names;
	struct stack_ids ids;
	size_t sz;

	if (prefix < 0 || duckdb_column_type(r->result, column) != DUCKDB_TYPE_VARCHAR)
		return;
	text = cells__str(&c, row, &sz);
	stack_ids__parse(&ids, text ? text : "", sz);
	pthread_mutex_lock(&r->model->lock);
	names = stackrows_place_of(r->model->stacks, &ids);
	stackrows_show_name(out, prefix, name, "where");
	json_out__text(out, names.where.s, names.where.sz);
	stackrows_show_name(out, prefix, name, "caller");
	json_out__text(out, names.caller.s, names.caller.sz);
	pthread_mutex_unlock(&r->model->lock);
}

static void stackrows_show_row(const struct stackrows_row *s, idx_t row, struct buf *out)
{
	json_out__open(out, '{');
	for (idx_t i = 0; i < duckdb_column_count(s->result); i++) {
		json_out__key(out, duckdb_column_name(s->result, i));
		json_out__cell(out, duckdb_data_chunk_get_vector(s->chunk, i), row);
		stackrows_show_place(s, i, row, out);
	}
	json_out__close(out, '}');
}

int stack_rows__show(struct web_request *r, const char *path, struct answer *a)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	int err = view__query(r, path, &result, a);

	if (!err)
		json_out__open(&a->json, '[');
	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
			stackrows_show_row(
				&(struct stackrows_row){ &r->view->model, &result, chunk }, row,
				&a->json);
		duckdb_destroy_data_chunk(&chunk);
	}
	if (!err)
		json_out__close(&a->json, ']');
	duckdb_destroy_result(&result);
	return err;
}
