// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers what happens over time: api/timeline, api/heatmap. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacksexport/duck/cells.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/jsonout.h"

#define BUCKETS_DEFAULT 800
#define BUCKETS_MAX	4000
#define LANES_MAX	64

/* How a lane's values are computed from the results of the queries. */
enum lane_sum {
	LANE_RATE,  /* a sum, per second */
	LANE_COUNT, /* a sum per bucket */
	LANE_LEVEL, /* the sum since the beginning */
	LANE_OPEN,  /* the average number that is open */
};

struct lane_kind {
	const char *id, *label, *unit, *style;
	enum lane_sum sum;
	int64_t metrics[2]; /* of timeline_sums.sql */
};

static const struct lane_kind kinds[] = {
	{ "cpu", "CPU", "cores", "area", LANE_OPEN, { 0 } },
	{ "offcpu/blocked", "Blocked", "threads", "area", LANE_OPEN, { 0 } },
	{ "offcpu/runnable", "Runnable", "threads", "area", LANE_OPEN, { 0 } },
	{ "rss", "Memory", "bytes", "area", LANE_LEVEL, { 8, 9 } },
	{ "disk", "Disk requests", "open", "area", LANE_OPEN, { 0 } },
	{ "files", "File calls", "open", "area", LANE_OPEN, { 0 } },
	{ "net", "Network", "bytes/s", "area", LANE_RATE, { 4 } },
	{ "faults", "Page faults", "1/s", "area", LANE_RATE, { 5 } },
	{ "wakeups", "Wake-ups", "1/s", "area", LANE_RATE, { 6 } },
	{ "spans", "Spans", "open", "area", LANE_OPEN, { 0 } },
	{ "lost", "Lost events", "count", "bars", LANE_COUNT, { 10 } },
};

#define KIND_CNT  (sizeof(kinds) / sizeof(*kinds))
#define KIND_CPU  0
#define CPU_CHILD "cpu/"

struct timeline_lane {
	const struct lane_kind *kind;
	int64_t label;	     /* number of a child */
	char *parent, *text; /* of a child: the ID of its parent, its name; NULL: no child */
	double *values;
	double *numbers; /* LANE_OPEN: by how much the number of open ones changes at the end of a
			    bucket */
};

struct timeline {
	struct web_request *request;
	int64_t width_ns, cnt;
	struct timeline_lane lanes[LANES_MAX];
	size_t lane_cnt, child_begin; /* child_begin: the first child of the latest parent */
	const char *parent;	      /* of the children that are being added */
	char width[24];
};

static struct timeline_lane *timeline_add(struct timeline *t, const struct lane_kind *kind,
					  int64_t label)
{
	struct timeline_lane *lane = &t->lanes[t->lane_cnt];

	if (t->lane_cnt == LANES_MAX)
		return NULL;
	*lane = (struct timeline_lane){ .kind = kind, .label = label };
	lane->values = calloc((size_t)t->cnt, sizeof(double));
	lane->numbers = calloc((size_t)t->cnt, sizeof(double));
	t->lane_cnt++;
	return lane->values && lane->numbers ? lane : NULL;
}

static void timeline_free(struct timeline *t)
{
	for (size_t i = 0; i < t->lane_cnt; i++) {
		free(t->lanes[i].values);
		free(t->lanes[i].numbers);
		free(t->lanes[i].parent);
		free(t->lanes[i].text);
	}
}

/* Returns the lane of a kind, which is added when its first value arrives. */
static struct timeline_lane *timeline_lane(struct timeline *t, const struct lane_kind *kind)
{
	for (size_t i = 0; i < t->lane_cnt; i++)
		if (t->lanes[i].kind == kind && !t->lanes[i].text)
			return &t->lanes[i];
	return timeline_add(t, kind, 0);
}

/* Returns NULL if there is no such child of the latest parent. */
static struct timeline_lane *timeline_child(struct timeline *t, int64_t label)
{
	for (size_t i = t->child_begin; i < t->lane_cnt; i++)
		if (t->lanes[i].label == label)
			return &t->lanes[i];
	return NULL;
}

static const struct lane_kind *timeline_kind_of_metric(int64_t metric)
{
	for (size_t i = 0; i < KIND_CNT; i++)
		if (kinds[i].metrics[0] == metric || kinds[i].metrics[1] == metric)
			return &kinds[i];
	return NULL;
}

/* Finds the kind by the last part of its ID. */
static const struct lane_kind *timeline_kind_of_name(const char *name, size_t sz)
{
	for (size_t i = 0; i < KIND_CNT; i++) {
		const char *slash = strchr(kinds[i].id, '/'),
			   *last = slash ? slash + 1 : kinds[i].id;

		if (strlen(last) == sz && memcmp(last, name, sz) == 0)
			return &kinds[i];
	}
	return NULL;
}

/* ---- rows of the queries -------------------------------------------------------------------- */

#define COLUMNS_MAX 5

typedef void timeline_fn(struct timeline *, const struct cells *, idx_t row);

static double timeline_double_at(const struct cells *c, idx_t row)
{
	return cells__is_null(c, row) ? 0 : ((const double *)c->data)[row];
}

/* The columns are metric, bucket, value. */
static void timeline_take_sum(struct timeline *t, const struct cells *c, idx_t row)
{
	const struct lane_kind *kind = timeline_kind_of_metric(cells__int(&c[0], row));
	struct timeline_lane *lane = kind ? timeline_lane(t, kind) : NULL;
	int64_t bucket = cells__int(&c[1], row);

	if (lane && bucket >= 0 && bucket < t->cnt)
		lane->values[bucket] += timeline_double_at(&c[2], row);
}

static void timeline_lane_add_edges(struct timeline_lane *lane, const struct timeline *t,
				    const struct cells *c, idx_t row)
{
	int64_t bucket = cells__int(&c[2], row);

	if (!lane || bucket < 0 || bucket >= t->cnt)
		return;
	lane->numbers[bucket] += (double)cells__int(&c[3], row);
	lane->values[bucket] -= timeline_double_at(&c[4], row);
}

/* The columns are lane, label, bucket, number, behind. */
static void timeline_take_edges(struct timeline *t, const struct cells *c, idx_t row)
{
	size_t sz;
	const char *name = cells__str(&c[0], row, &sz);
	const struct lane_kind *kind = name ? timeline_kind_of_name(name, sz) : NULL;

	timeline_lane_add_edges(kind ? timeline_lane(t, kind) : NULL, t, c, row);
}

/* Like timeline_take_edges(), for the chosen children. */
static void timeline_take_child(struct timeline *t, const struct cells *c, idx_t row)
{
	timeline_lane_add_edges(timeline_child(t, cells__int(&c[1], row)), t, c, row);
}

/* The columns are label, text, total. */
static void timeline_take_largest(struct timeline *t, const struct cells *c, idx_t row)
{
	struct timeline_lane *lane = timeline_add(t, &kinds[KIND_CPU], cells__int(&c[0], row));
	size_t sz;
	const char *text = cells__str(&c[1], row, &sz);

	if (!lane)
		return;
	lane->text = strndup(text ? text : "", sz);
	lane->parent = strdup(t->parent);
}

static int timeline_rows(struct timeline *t, const char *path, timeline_fn *take, struct answer *a)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	int err = view__query(t->request, path, &result, a);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		struct cells c[COLUMNS_MAX];

		for (idx_t i = 0; i < duckdb_column_count(&result) && i < COLUMNS_MAX; i++)
			c[i] = cells__on(duckdb_data_chunk_get_vector(chunk, i));
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
			take(t, c, row);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

/* ---- values --------------------------------------------------------------------------------- */

static void timeline_lane_finish(struct timeline_lane *lane, const struct timeline *t)
{
	double width = (double)t->width_ns, level = 0;

	for (int64_t i = 0; i < t->cnt; i++) {
		double *value = &lane->values[i];

		switch (lane->kind->sum) {
		case LANE_RATE: *value = *value * 1e9 / width; break;
		case LANE_COUNT: break;
		case LANE_LEVEL: *value = level += *value; break;
		case LANE_OPEN:
			level += lane->numbers[i];
			*value = (level * width + *value) / width;
			break;
		}
	}
}

/* Appends "cpu/postgres": the parent's ID, and the name of the child. */
static void timeline_show_id(const struct timeline_lane *lane, struct buf *out)
{
	struct buf id = { 0 };

	if (lane->text)
		buf__printf(&id, "%s/%s", lane->parent ? lane->parent : "", lane->text);
	else
		buf__str(&id, lane->kind->id);
	json_out__key(out, "id");
	json_out__text(out, (const char *)id.data, id.sz);
	buf__free(&id);
}

static void timeline_lane_show(const struct timeline_lane *lane, const struct timeline *t,
			       struct buf *out)
{
	json_out__open(out, '{');
	timeline_show_id(lane, out);
	json_out__key_text(out, "parent", lane->parent);
	json_out__key_text(out, "label", lane->text ? lane->text : lane->kind->label);
	json_out__key_text(out, "unit", lane->kind->unit);
	json_out__key_text(out, "kind", lane->kind->style);
	json_out__key(out, "values");
	json_out__open(out, '[');
	for (int64_t i = 0; i < t->cnt; i++)
		json_out__double(out, (double)(float)lane->values[i]);
	json_out__close(out, ']');
	json_out__close(out, '}');
}

/* Appends the lanes in the order of `kinds`, children after their parent. */
static void timeline_show(struct timeline *t, struct buf *out)
{
	json_out__open(out, '{');
	json_out__key_int(out, "bucket_ns", t->width_ns);
	json_out__key(out, "lanes");
	json_out__open(out, '[');
	for (size_t k = 0; k < KIND_CNT; k++)
		for (size_t i = 0; i < t->lane_cnt; i++)
			if (t->lanes[i].kind == &kinds[k]) {
				timeline_lane_finish(&t->lanes[i], t);
				timeline_lane_show(&t->lanes[i], t, out);
			}
	json_out__close(out, ']');
	json_out__close(out, '}');
}

/* Returns the width of a bucket, so that `cnt` of them cover the time range. */
static void timeline_set_width(struct web_request *r, int64_t cnt, int64_t least_ns,
			       int64_t *width_ns, char text[24])
{
	int64_t from = 0, to = 0;

	query_params__int(&r->params, "from", &from);
	query_params__int(&r->params, "to", &to);
	*width_ns = to > from ? (to - from + cnt - 1) / cnt : 1;
	if (*width_ns < least_ns)
		*width_ns = least_ns;
	snprintf(text, 24, "%" PRId64, *width_ns);
	query_params__set(&r->params, "width", text);
}

/* Adds the children of a lane with most time, and their values. */
static int timeline_children(struct timeline *t, const char *parent, const char *root,
			     struct answer *a)
{
	int err;

	t->parent = parent;
	t->child_begin = t->lane_cnt;
	query_params__set(&t->request->params, "root", root);
	err = timeline_rows(t, "sql/view/timeline_largest.sql", timeline_take_largest, a);
	query_params__set(&t->request->params, "metric", "1");
	return err ? err : timeline_rows(t, "sql/view/timeline_open.sql", timeline_take_child, a);
}

/* Adds the threads of the commands in `expand`, such as "cpu/postgres,cpu/nginx". */
static int timeline_threads(struct timeline *t, char *expand, struct answer *a)
{
	struct query_params *params = &t->request->params;
	const char *command = query_params__find(params, "command");
	int err = 0;

	while (expand && !err) {
		char *next = strstr(expand, "," CPU_CHILD);

		if (next)
			*next++ = '\0';
		if (strncmp(expand, CPU_CHILD, strlen(CPU_CHILD)) == 0 &&
		    (!command || strcmp(command, expand + strlen(CPU_CHILD)) == 0)) {
			query_params__set(params, "command", expand + strlen(CPU_CHILD));
			err = timeline_children(t, expand, "thread", a);
		}
		expand = next;
	}
	query_params__set(params, "command", command ? command : "");
	return err;
}

static int timeline_read(struct timeline *t, struct answer *a)
{
	const char *expand = query_params__find(&t->request->params, "expand");
	char *lanes = expand ? strdup(expand) : NULL;
	int err = timeline_rows(t, "sql/view/timeline_sums.sql", timeline_take_sum, a);

	if (!err)
		err = timeline_rows(t, "sql/view/timeline_open.sql", timeline_take_edges, a);
	if (!err)
		err = timeline_rows(t, "sql/view/timeline_waits.sql", timeline_take_edges, a);
	if (!err)
		err = timeline_children(t, kinds[KIND_CPU].id, "command", a);
	if (!err)
		err = timeline_threads(t, lanes, a);
	free(lanes);
	return err;
}

int timeline__answer(struct web_request *r, struct answer *a)
{
	struct timeline t = { .request = r, .cnt = BUCKETS_DEFAULT };
	int err;

	if (query_params__int(&r->params, "buckets", &t.cnt) != 0 || t.cnt < 1 ||
	    t.cnt > BUCKETS_MAX)
		return answer__fail(a, 400, "buckets is a number from 1 to %d", BUCKETS_MAX);
	if (source__await(r->source, PART_MEMORY) != 0)
		return answer__fail(a, 500, "cannot read the recording: %s", r->source->error);
	query_params__set(&r->params, "root", "");
	query_params__set(&r->params, "metric", "");
	timeline_set_width(r, t.cnt, 1, &t.width_ns, t.width);
	err = timeline_read(&t, a);
	if (!err)
		timeline_show(&t, &a->json);
	timeline_free(&t);
	return err;
}

/* ---- the heat map --------------------------------------------------------------------------- */

#define HEATMAP_COLUMNS	    120
#define HEATMAP_COLUMNS_MAX 2000
#define HEATMAP_ROWS	    50

struct heatmap {
	int64_t *values, columns, max;
};

static void timeline_take_samples(struct heatmap *h, duckdb_data_chunk chunk)
{
	struct cells column = cells__on(duckdb_data_chunk_get_vector(chunk, 0));
	struct cells line = cells__on(duckdb_data_chunk_get_vector(chunk, 1));
	struct cells samples = cells__on(duckdb_data_chunk_get_vector(chunk, 2));

	for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++) {
		int64_t x = cells__int(&column, row), y = cells__int(&line, row);
		int64_t value = cells__int(&samples, row);

		if (x < 0 || x >= h->columns || y < 0 || y >= HEATMAP_ROWS)
			continue;
		h->values[x * HEATMAP_ROWS + y] = value;
		h->max = value > h->max ? value : h->max;
	}
}

static void heatmap_show(const struct heatmap *h, int64_t width_ns, struct buf *out)
{
	json_out__open(out, '{');
	json_out__key_int(out, "column_ns", width_ns);
	json_out__key_int(out, "rows", HEATMAP_ROWS);
	json_out__key_int(out, "row_ns", width_ns / HEATMAP_ROWS);
	json_out__key_int(out, "columns", h->columns);
	json_out__key_int(out, "max", h->max);
	json_out__key(out, "values");
	json_out__open(out, '[');
	for (int64_t i = 0; i < h->columns * HEATMAP_ROWS; i++)
		json_out__int(out, h->values[i]);
	json_out__close(out, ']');
	json_out__close(out, '}');
}

static int heatmap_read(struct web_request *r, struct heatmap *h, struct answer *a)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	int err = view__query(r, "sql/view/heatmap.sql", &result, a);

	while (!err && (chunk = duckdb_fetch_chunk(result))) {
		timeline_take_samples(h, chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	duckdb_destroy_result(&result);
	return err;
}

int heatmap__answer(struct web_request *r, struct answer *a)
{
	struct heatmap h = { .columns = HEATMAP_COLUMNS };
	int64_t width_ns, from = 0, to = 0;
	char width[24];
	int err;

	if (query_params__int(&r->params, "columns", &h.columns) != 0 || h.columns < 1 ||
	    h.columns > HEATMAP_COLUMNS_MAX)
		return answer__fail(a, 400, "columns is a number from 1 to %d",
				    HEATMAP_COLUMNS_MAX);
	if (source__await(r->source, PART_SAMPLES) != 0)
		return answer__fail(a, 500, "cannot read the recording: %s", r->source->error);
	timeline_set_width(r, h.columns, 1000000000, &width_ns, width);
	query_params__int(&r->params, "from", &from);
	query_params__int(&r->params, "to", &to);
	h.columns = to > from ? (to - from + width_ns - 1) / width_ns : 1;
	query_params__set(&r->params, "rows", "50");
	h.values = calloc((size_t)h.columns * HEATMAP_ROWS, sizeof(*h.values));
	err = h.values ? heatmap_read(r, &h, a) : -ENOMEM;
	if (!err)
		heatmap_show(&h, width_ns, &a->json);
	free(h.values);
	return err;
}
