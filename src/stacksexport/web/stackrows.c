// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/stackrows.h"

#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/model/waiting.h"
#include "stacksexport/web/jsonout.h"

#define SUFFIX	  "stack"
#define ID_DIGITS 16

/* Finds "sleep_where" for "sleep_stack"; returns false for other names. */
static bool stackrows_where_name(const char *name, char out[64])
{
	size_t sz = strlen(name), suffix = strlen(SUFFIX);

	if (sz < suffix || sz > 40 || strcmp(name + sz - suffix, SUFFIX) != 0)
		return false;
	memcpy(out, name, sz - suffix);
	memcpy(out + sz - suffix, "where", sizeof("where"));
	return true;
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

/* Prefers the user stack, like the table of functions. Must hold the lock. */
static struct frame_text waits_in(const struct stackset *s, const struct stack_ids *ids)
{
	static const struct frame_text none = { "[no stack]", sizeof("[no stack]") - 1 };
	size_t cnt;
	const uint32_t *frames = stackset__find(s, ids->cnt ? ids->ids[ids->cnt - 1] : 0, &cnt);
	struct waiting w;
	uint32_t function;

	if (!cnt)
		return none;
	w = waiting__find(s, frames, cnt);
	function = stackset__frame_at(s, frames[w.leaf_only ? 0 : w.first])->function;
	return stackset__text(s, stackset__function(s, function)->name);
}

static void stackrows_show_where(struct model *m, duckdb_vector vector, idx_t row, struct buf *out)
{
	struct cells c = cells__on(vector);
	struct stack_ids ids;
	struct frame_text text;
	size_t sz;
	const char *s = cells__str(&c, row, &sz);

	stack_ids__parse(&ids, s ? s : "", sz);
	pthread_mutex_lock(&m->lock);
	text = waits_in(m->stacks, &ids);
	json_out__text(out, text.s, text.sz);
	pthread_mutex_unlock(&m->lock);
}

struct stackrows_row {
	struct model *model;
	duckdb_result *result;
	duckdb_data_chunk chunk;
};

static void stackrows_show_row(const struct stackrows_row *s, idx_t row, struct buf *out)
{
	json_out__open(out, '{');
	for (idx_t i = 0; i < duckdb_column_count(s->result); i++) {
		duckdb_vector vector = duckdb_data_chunk_get_vector(s->chunk, i);
		const char *name = duckdb_column_name(s->result, i);
		char where[64];

		json_out__key(out, name);
		json_out__cell(out, vector, row);
		if (duckdb_column_type(s->result, i) == DUCKDB_TYPE_VARCHAR &&
		    stackrows_where_name(name, where)) {
			json_out__key(out, where);
			stackrows_show_where(s->model, vector, row, out);
		}
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
