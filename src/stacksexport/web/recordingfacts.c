// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers with facts about the recording: api/recording, api/stack. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/metricsums.h"
#include "stacksexport/web/stackrows.h"

/* Parts of the answer that are the rows of a query. */
static const struct {
	const char *key, *path;
} tables[] = {
	{ "kinds", "sql/view/kinds.sql" },   { "lost", "sql/view/lost.sql" },
	{ "unwind", "sql/view/unwind.sql" }, { "processes", "sql/view/processes.sql" },
	{ "spans", "sql/view/spans.sql" },
};

static void recordingfacts_show_metric(const struct metric *m, struct buf *out)
{
	json_out__open(out, '{');
	json_out__key_text(out, "id", m->id);
	json_out__key_text(out, "label", m->label);
	json_out__key_text(out, "unit", m->unit);
	json_out__close(out, '}');
}

/* Returns true if the recording has one of the metric's kinds. */
static bool recordingfacts_is_filled(const struct metric *m, const char *kind, size_t sz)
{
	const char *at = memmem(m->kinds, strlen(m->kinds), kind, sz);

	return at && at > m->kinds && at[-1] == '|' && at[sz] == '|';
}

static unsigned recordingfacts_filled_by(duckdb_data_chunk chunk)
{
	struct cells kind = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	unsigned filled = 0;

	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		size_t sz;
		const char *s = cells__str(&kind, row, &sz);

		for (unsigned i = 0; s && metrics[i].id; i++)
			filled |= (unsigned)recordingfacts_is_filled(&metrics[i], s, sz) << i;
	}
	return filled;
}

static int recordingfacts_show_metrics(struct web_request *r, struct answer *a)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	unsigned filled = 0;
	int err = view__query(r, "sql/view/filled.sql", &result, a);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		filled |= recordingfacts_filled_by(chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	json_out__key(&a->json, "metrics");
	json_out__open(&a->json, '[');
	for (unsigned i = 0; metrics[i].id; i++)
		if (filled & 1u << i)
			recordingfacts_show_metric(&metrics[i], &a->json);
	json_out__close(&a->json, ']');
	return err;
}

/* Appends the host names: "db-17, db-18". */
static int recordingfacts_show_host(struct web_request *r, struct answer *a)
{
	duckdb_data_chunk chunk = NULL;
	duckdb_result result;
	int err = view__query(r, "sql/view/host.sql", &result, a);

	if (!err)
		chunk = duckdb_fetch_chunk(result);
	if (chunk) {
		json_out__key(&a->json, "host");
		json_out__cell(&a->json, duckdb_data_chunk_get_vector(chunk, 0), 0);
	}
	duckdb_destroy_data_chunk(&chunk);
	duckdb_destroy_result(&result);
	return err;
}

static void recordingfacts_show_head(struct source *s, struct buf *out)
{
	char t0[24];

	pthread_mutex_lock(&s->lock);
	snprintf(t0, sizeof(t0), "%" PRId64, s->begins_ns);
	json_out__key_text(out, "path", s->request.files.label);
	json_out__key_text(out, "t0_ns", t0);
	json_out__key_int(out, "after_ns", s->after_ns);
	json_out__key_int(out, "duration_ns", s->ends_ns - s->begins_ns);
	json_out__key(out, "live");
	json_out__bool(out, s->live);
	json_out__key(out, "partial");
	json_out__bool(out, s->partial);
	json_out__key(out, "stuck");
	json_out__bool(out, s->stuck);
	pthread_mutex_unlock(&s->lock);
	json_out__key_text(out, "version", STACKS_VERSION);
}

/* The stacks that have been read so far. */
static void recordingfacts_show_stacks(struct model *m, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	json_out__key_int(out, "stacks", (int64_t)stackset__cnt(m->stacks));
	pthread_mutex_unlock(&m->lock);
}

int recording__answer(struct web_request *r, struct answer *a)
{
	int err;

	json_out__open(&a->json, '{');
	recordingfacts_show_head(r->source, &a->json);
	json_out__key(&a->json, "other");
	json_out__bool(&a->json, r->view->source_cnt > 1);
	err = recordingfacts_show_host(r, a);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !err; i++) {
		json_out__key(&a->json, tables[i].key);
		err = view__rows(r, tables[i].path, a);
	}
	if (!err)
		err = recordingfacts_show_metrics(r, a);
	recordingfacts_show_stacks(&r->view->model, &a->json);
	json_out__close(&a->json, '}');
	return err;
}

/* ---- one stack ------------------------------------------------------------------------------ */

static void recordingfacts_show_hex(struct buf *out, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_out__key_text(out, key, text);
}

static void recordingfacts_show_frame(const struct stackset *s, uint32_t index, struct buf *out)
{
	const struct model_frame *frame = stackset__frame_at(s, index);
	const struct function *f = stackset__function(s, frame->function);
	struct frame_text name = stackset__text(s, f->name);
	struct frame_text path = stackset__text(s, frame->path);

	json_out__open(out, '{');
	json_out__key(out, "name");
	json_out__text(out, name.s, name.sz);
	json_out__key(out, "module");
	json_out__text(out, path.s, path.sz);
	recordingfacts_show_hex(out, "address", frame->address);
	recordingfacts_show_hex(out, "offset", frame->offset);
	if (frame->has_file_offset)
		recordingfacts_show_hex(out, "file_offset", frame->file_offset);
	json_out__key_int(out, "kind", f->kind);
	json_out__close(out, '}');
}

/* Appends the stacks. Returns how many there are. */
static size_t recordingfacts_show_frames(struct model *m, const struct stack_ids *ids,
					 struct buf *out)
{
	size_t all = 0;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < ids->cnt; i++) {
		size_t cnt;
		const uint32_t *frames = stackset__find(m->stacks, ids->ids[i], &cnt);

		for (size_t k = 0; k < cnt; k++)
			recordingfacts_show_frame(m->stacks, frames[k], out);
		all += cnt;
	}
	pthread_mutex_unlock(&m->lock);
	return all;
}

int stack__answer(struct web_request *r, struct answer *a)
{
	const char *text = query_params__find(&r->params, "id");
	struct stack_ids ids;
	int err;

	if (!text || !stack_ids__parse(&ids, text, strlen(text)))
		return answer__fail(a, 400,
				    "id is one or two IDs of stacks: 16 digits each, with "
				    "'-' between them");
	err = view__await_stacks(r, a);
	if (err)
		return err;
	json_out__open(&a->json, '{');
	json_out__key(&a->json, "frames");
	json_out__open(&a->json, '[');
	if (!recordingfacts_show_frames(&r->view->model, &ids, &a->json))
		err = answer__fail(a, 404, "there is no stack %s", text);
	json_out__close(&a->json, ']');
	json_out__close(&a->json, '}');
	return err;
}
