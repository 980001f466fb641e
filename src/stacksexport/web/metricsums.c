// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/metricsums.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "stacksexport/duck/cells.h"

const char *const weight_states[STATE_CNT] = { "cpu", "blocked", "runnable" };

const struct metric metrics[] = {
	{ .id = "cpu",
	  .label = "CPU",
	  .unit = "ns",
	  .code = "1",
	  .part = PART_SAMPLES,
	  .kinds = "|profile|" },
	{ .id = "offcpu",
	  .label = "Off-CPU",
	  .unit = "ns",
	  .waits = true,
	  .part = PART_WAITS,
	  .kinds = "|switch|" },
	{ .id = "wall",
	  .label = "Wall clock",
	  .unit = "ns",
	  .code = "1",
	  .waits = true,
	  .states = true,
	  .part = PART_WAITS,
	  .kinds = "|profile|switch|" },
	{ .id = "rss",
	  .label = "Memory growth",
	  .unit = "bytes",
	  .code = "8",
	  .part = PART_MEMORY,
	  .kinds = "|rss|" },
	{ .id = "disk",
	  .label = "Disk",
	  .unit = "ns",
	  .code = "2",
	  .part = PART_SAMPLES,
	  .kinds = "|blk_read|blk_write|blk_flush|blk_discard|" },
	{ .id = "files",
	  .label = "Files",
	  .unit = "ns",
	  .code = "3",
	  .part = PART_SAMPLES,
	  .kinds = "|vfs_read|vfs_write|" },
	{ .id = "net",
	  .label = "Network",
	  .unit = "bytes",
	  .code = "4",
	  .part = PART_SAMPLES,
	  .kinds = "|tcp_send|tcp_recv|udp_send|udp_recv|" },
	{ .id = "faults",
	  .label = "Page faults",
	  .unit = "count",
	  .code = "5",
	  .part = PART_SAMPLES,
	  .kinds = "|fault|" },
	{ .id = "wakeups",
	  .label = "Wake-ups",
	  .unit = "count",
	  .code = "6",
	  .part = PART_SAMPLES,
	  .kinds = "|wake|" },
	{ .id = "spans",
	  .label = "Spans",
	  .unit = "ns",
	  .code = "1",
	  .waits = true,
	  .states = true,
	  .only_spans = true,
	  .part = PART_WAITS,
	  .kinds = "|trace_exit|trace_close|" },
	{ 0 },
};

const struct metric *metric__of(const struct web_request *r, struct answer *a)
{
	const char *id = query_params__find(&r->params, "metric");

	for (const struct metric *m = metrics; m->id; m++)
		if (strcmp(m->id, id ? id : "cpu") == 0)
			return m;
	answer__fail(a, 400, "there is no metric '%s'", id);
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The queries of metric__read(), or of metric__read_slices(). */
struct metric_queries {
	const char *samples, *waits, *labels; /* labels: NULL without roots */
};

static int metricsums_read_rows(struct web_request *r, const struct metric *m,
				struct metric_rows *rows, struct answer *a)
{
	const struct metric_queries *queries = rows->queries;
	int err = 0;

	query_params__set(&r->params, "code", m->code ? m->code : "");
	query_params__set(&r->params, "only_spans", m->only_spans ? "1" : "");
	if (m->code)
		err = view__query(r, queries->samples, &rows->samples, a);
	if (!err && m->waits)
		err = view__query(r, queries->waits, &rows->waits, a);
	if (!err && queries->labels)
		err = view__query(r, queries->labels, &rows->labels, a);
	return err;
}

static int metricsums_await(struct web_request *r, const struct metric *m, struct answer *a)
{
	return source__await(r->source, m->part) == 0
		       ? 0
		       : answer__fail(a, 500, "cannot read the recording: %s", r->source->error);
}

/* Returns true if the list `hide` has the word idle. */
static bool metricsums_hides_idle(const struct web_request *r)
{
	const char *word = query_params__find(&r->params, "hide");

	while (word && *word) {
		size_t sz = strcspn(word, ",");

		if (sz == strlen("idle") && strncmp(word, "idle", sz) == 0)
			return true;
		word += sz + (word[sz] == ',');
	}
	return false;
}

int metric__read(struct web_request *r, const struct metric *m, struct metric_rows *rows,
		 struct answer *a)
{
	struct metric_queries queries = { .samples = "sql/view/samples_of_stacks.sql",
					  .waits = "sql/view/waits_of_stacks.sql" };
	const char *root;
	int err = metricsums_await(r, m, a);

	*rows = (struct metric_rows){ .hides_idle = metricsums_hides_idle(r) };
	if (err)
		return err;
	if (m->only_spans && !query_params__find(&r->params, "root"))
		query_params__set(&r->params, "root", "span");
	root = query_params__find(&r->params, "root");
	rows->has_roots = root && strcmp(root, "none") != 0;
	if (rows->has_roots)
		queries.labels = "sql/view/labels.sql";
	rows->queries = &queries;
	err = metricsums_read_rows(r, m, rows, a);
	rows->queries = NULL;
	return err;
}

int metric__read_slices(struct web_request *r, const struct metric *m, struct metric_rows *rows,
			struct answer *a)
{
	const struct metric_queries queries = {
		.samples = "sql/view/samples_of_slices.sql",
		.waits = "sql/view/waits_of_slices.sql",
		.labels = query_params__find(&r->params, "root") ? "sql/view/labels.sql" : NULL,
	};
	int err = metricsums_await(r, m, a);

	*rows = (struct metric_rows){ .queries = &queries, .hides_idle = metricsums_hides_idle(r) };
	err = err ? err : metricsums_read_rows(r, m, rows, a);
	rows->queries = NULL;
	return err;
}

void metric_rows__free(struct metric_rows *rows)
{
	duckdb_destroy_result(&rows->samples);
	duckdb_destroy_result(&rows->waits);
	duckdb_destroy_result(&rows->labels);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* The columns of samples_of_stacks.sql, waits_of_stacks.sql and those of slices. The last ones may
 * be missing. */
enum sum_column {
	SUM_LABEL,
	SUM_USTACK,
	SUM_KSTACK,
	SUM_VALUE,
	SUM_EVENTS = 6,
	SUM_ROOT,
	SUM_SLEPT,
	SUM_COLUMNS
};

/* One run of metric__each(). */
struct summing {
	const struct metric_shape *shape;
	enum tree_shape tree_shape; /* of the rows that are taken */
	uint32_t states[STATE_CNT]; /* functions; KEYMAP_NONE: no leaf */
	bool hides_idle;
	metric_fn *take;
	void *arg;
};

uint32_t weight_state__function(struct model *m, enum weight_state state)
{
	static const struct frame_text names[STATE_CNT] = {
		{ "[on CPU]", sizeof("[on CPU]") - 1 },
		{ "[blocked]", sizeof("[blocked]") - 1 },
		{ "[runnable]", sizeof("[runnable]") - 1 },
	};
	struct frame_text module = { 0 };

	return stackset__add_function(m->stacks, names[state], module, FRAME_LABEL);
}

static uint64_t metricsums_id_at(const struct cells *c, idx_t row)
{
	return cells__is_null(c, row) ? 0 : ((const uint64_t *)c->data)[row];
}

/* Passes on the value of the leaf, or of the leaf's child for that state. */
static int summing_give(struct summing *s, const struct metric_value *of_leaf,
			enum weight_state state)
{
	struct metric_value v = *of_leaf;

	if (!v.value && !v.events)
		return 0;
	if (s->states[state] != KEYMAP_NONE)
		v.node = trie__child(calltree__trie(s->shape->tree), v.node, s->states[state]);
	return v.node == KEYMAP_NONE ? -ENOMEM : s->take(&v, s->arg);
}

static int64_t summing_column(const struct cells columns[SUM_COLUMNS], enum sum_column c, idx_t row)
{
	return columns[c].data ? cells__int(&columns[c], row) : 0;
}

static int summing_add_row(struct summing *s, const struct cells columns[SUM_COLUMNS], idx_t row)
{
	struct tree_stack stack = {
		.ustack = metricsums_id_at(&columns[SUM_USTACK], row),
		.kstack = metricsums_id_at(&columns[SUM_KSTACK], row),
		.shape = s->tree_shape,
	};
	struct metric_value v = {
		.node = calltree__leaf(s->shape->tree, &stack),
		.label = (uint32_t)cells__int(&columns[SUM_LABEL], row),
		.events = cells__int(&columns[SUM_EVENTS], row),
		.root = (uint32_t)summing_column(columns, SUM_ROOT, row),
	};
	bool hidden = s->hides_idle && summing_column(columns, SUM_SLEPT, row) &&
		      calltree__waits_for_work(s->shape->tree, &stack);
	int err = v.node == KEYMAP_NONE ? -ENOMEM : 0;

	v.events = hidden ? 0 : v.events;
	for (unsigned state = 0; state < STATE_CNT && !err; state++) {
		v.value = hidden && state == STATE_BLOCKED
				  ? 0
				  : cells__int(&columns[SUM_VALUE + state], row);
		err = summing_give(s, &v, state);
		v.events = v.value ? 0 : v.events; /* they count once */
	}
	return err;
}

static int summing_add_rows(struct summing *s, duckdb_result *result)
{
	duckdb_data_chunk chunk;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		struct cells columns[SUM_COLUMNS] = { 0 };

		for (idx_t i = 0; i < duckdb_data_chunk_get_column_count(chunk); i++)
			columns[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i));
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk) && !err; row++)
			err = summing_add_row(s, columns, row);
		duckdb_destroy_data_chunk(&chunk);
	}
	return err;
}

int metric__each(const struct metric_shape *shape, struct metric_rows *rows, metric_fn *take,
		 void *arg)
{
	struct summing s = {
		.shape = shape, .hides_idle = rows->hides_idle, .take = take, .arg = arg
	};
	bool states = shape->metric->states && shape->states;
	int err;

	for (unsigned i = 0; i < STATE_CNT; i++)
		s.states[i] = states ? weight_state__function(shape->model, i) : KEYMAP_NONE;
	err = summing_add_rows(&s, &rows->samples);
	s.tree_shape = shape->waits;
	return err ? err : summing_add_rows(&s, &rows->waits);
}

int metric_list__take(const struct metric_value *v, void *arg)
{
	struct metric_list *list = arg;
	struct metric_value *rows = array__room(list->rows, list->cnt, &list->cap, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	list->rows = rows;
	rows[list->cnt++] = *v;
	return 0;
}

void metric_list__free(struct metric_list *list)
{
	free(list->rows);
	*list = (struct metric_list){ 0 };
}

static int metricsums_take_sum(const struct metric_value *v, void *arg)
{
	struct metric_sums *sums = arg;
	int err = tree_weights__add(&sums->values, v->node, v->value);

	return err ? err : tree_weights__add(&sums->events, v->node, v->events);
}

int metric__sum(const struct metric_shape *shape, struct metric_rows *rows,
		struct metric_sums *sums)
{
	const struct trie *trie = calltree__trie(shape->tree);
	int err;

	*sums = (struct metric_sums){ 0 };
	err = tree_weights__fit(&sums->values, trie);
	if (!err)
		err = tree_weights__fit(&sums->events, trie);
	if (!err)
		err = metric__each(shape, rows, metricsums_take_sum, sums);
	if (!err) /* the tree may have grown */
		err = tree_weights__fit(&sums->values, trie);
	return err ? err : tree_weights__fit(&sums->events, trie);
}

void metric_sums__free(struct metric_sums *s)
{
	tree_weights__free(&s->values);
	tree_weights__free(&s->events);
}
