// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergerows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/fleet/fleetfolder.h"
#include "stacksexport/fleet/mergeorder.h"
#include "stacksexport/fleet/mergespill.h"
#include "stacksexport/fleet/mergetexts.h"
#include "store/parquet.h"
#include "store/row.h"

#define ROWS_SZ	   (160u << 20) /* of the vectors; the process stays below 512 MB */
#define TEXTS_SZ   (32u << 20)
#define GROUP_ROWS 122880
#define ZSTD_LEVEL 1
#define CHUNK_ROWS 2048

#define SPANS_CACHED 1024

/* The ranges of a command on a host, by the ids of both plus 1; 0: none. */
struct span_cache {
	uint32_t command, host;
	struct merge_span span;
};

struct merge_rows {
	struct merge_rows_options o;
	struct parquet *parquet;
	struct batch *batch;
	struct strtab *tab;
	struct strings strings;	   /* those of .tab that are passed to the writer */
	struct merge_texts *texts; /* one for each selected column */
	struct merge_spill *spill; /* NULL: there is one range, which goes into .batch at once */
	struct span_cache *spans;  /* SPANS_CACHED */
	struct row *rows;	   /* CHUNK_ROWS */
	uint32_t chunk;		   /* number of the present one */
	uint64_t row_cnt;
};

size_t merge_rows__max(const struct merge_columns *c)
{
	return ROWS_SZ / (c->row_sz ? c->row_sz : 1);
}

struct merge_rows *merge_rows__new(const struct merge_rows_options *o)
{
	struct merge_rows *m = calloc(1, sizeof(*m));
	const struct parquet_options options = { .zstd_level = ZSTD_LEVEL,
						 .sources = o->sources,
						 .version_key = FLEET_VERSION_KEY };

	if (!m)
		return NULL;
	m->o = *o;
	m->parquet = parquet__new(&o->events->table, o->fd, &options);
	m->batch = batch__new(&o->events->table, merge_rows__max(o->columns), 0);
	m->tab = strtab__new();
	m->texts = calloc(o->columns->cnt + 1, sizeof(*m->texts));
	m->rows = calloc(CHUNK_ROWS, sizeof(*m->rows));
	m->spans = calloc(SPANS_CACHED, sizeof(*m->spans));
	if (o->ranges->cnt)
		m->spill = merge_spill__new(o->dir, o->ranges->cnt + 1);
	if (m->parquet && m->batch && m->tab && m->texts && m->rows && m->spans &&
	    (m->spill || !o->ranges->cnt))
		return m;
	merge_rows__free(m);
	return NULL;
}

void merge_rows__free(struct merge_rows *m)
{
	if (!m)
		return;
	merge_spill__free(m->spill);
	free(m->spans);
	free(m->rows);
	free(m->texts);
	strings__free(&m->strings);
	strtab__free(m->tab);
	batch__free(m->batch);
	parquet__free(m->parquet);
	free(m);
}

/* Sorts and writes the rows of .batch. */
static int mergerows_write_batch(struct merge_rows *m)
{
	uint32_t *order;
	int err = 0;

	if (!m->batch->cnt)
		return 0;
	order = merge_order__of(m->batch, &m->strings);
	if (!order)
		return -ENOMEM;
	for (size_t at = 0; at < m->batch->cnt && !err; at += GROUP_ROWS) {
		size_t left = m->batch->cnt - at;
		const struct batch_rows rows = { order + at,
						 left < GROUP_ROWS ? left : GROUP_ROWS };

		err = parquet__write_rows(m->parquet, m->batch, &m->strings, &rows);
	}
	free(order);
	m->row_cnt += m->batch->cnt;
	m->batch->cnt = 0;
	return err;
}

/* Appends rows of a range. */
static int mergerows_take_range(const struct row *rows, size_t cnt, void *arg)
{
	struct merge_rows *m = arg;
	int err = cnt > batch__room(m->batch) ? mergerows_write_batch(m) : 0;

	return err ? err : batch__append(m->batch, rows, cnt);
}

static void mergerows_forget_texts(struct merge_rows *m)
{
	strtab__reset(m->tab);
	strings__free(&m->strings);
	memset(m->texts, 0, m->o.columns->cnt * sizeof(*m->texts));
	memset(m->spans, 0, SPANS_CACHED * sizeof(*m->spans));
}

/* Sorts and writes all rows so far, range by range. */
static int merge_rows_flush(struct merge_rows *m)
{
	int err = strings__take(&m->strings, m->tab, m->strings.cnt);

	if (!err && !m->spill)
		err = mergerows_write_batch(m);
	for (size_t r = 0; m->spill && r <= m->o.ranges->cnt && !err; r++) {
		err = merge_spill__each(m->spill, r, mergerows_take_range, m);
		if (!err)
			err = mergerows_write_batch(m);
	}
	if (m->spill)
		merge_spill__clear(m->spill);
	mergerows_forget_texts(m);
	return err;
}

/* ---- from rows to ranges ------------------------------------------------------------------------
 */

static struct string mergerows_text_of(const struct merge_rows *m, uint32_t id)
{
	struct string s;

	s.data = strtab__str(m->tab, id, &s.sz);
	return s;
}

static uint32_t mergerows_range_of(struct merge_rows *m, const struct row *row)
{
	struct span_cache *c = &m->spans[(row->command * 31 + row->host) % SPANS_CACHED];

	if (c->command != row->command + 1 || c->host != row->host + 1)
		*c = (struct span_cache){ row->command + 1, row->host + 1,
					  merge_ranges__of(m->o.ranges,
							   mergerows_text_of(m, row->command),
							   mergerows_text_of(m, row->host)) };
	return merge_ranges__at(m->o.ranges, c->span, row->timestamp);
}

static int mergerows_keep_rows(struct merge_rows *m, size_t cnt)
{
	int err = 0;

	if (!m->spill)
		return batch__append(m->batch, m->rows, cnt);
	for (size_t i = 0; i < cnt && !err; i++)
		err = merge_spill__add(m->spill, mergerows_range_of(m, &m->rows[i]), &m->rows[i]);
	return err;
}

static bool mergerows_must_flush(const struct merge_rows *m, size_t cnt)
{
	return strtab__sz(m->tab) > TEXTS_SZ ||
	       (m->spill ? merge_spill__is_full(m->spill) : cnt > batch__room(m->batch));
}

/* ---- from vectors to rows -----------------------------------------------------------------------
 */

static bool mergerows_cell_is_there(const struct cells *c, idx_t row)
{
	return !c->validity || c->validity[row / 64] >> row % 64 & 1;
}

static int mergerows_fill_texts(struct merge_rows *m, const struct cells *c, size_t n, idx_t cnt)
{
	char *at = (char *)m->rows + events_table.columns[m->o.columns->of[n]].off;
	const duckdb_string_t *s = c->data;
	uint32_t id;

	for (idx_t i = 0; i < cnt; i++, at += sizeof(*m->rows)) {
		if (!mergerows_cell_is_there(c, i) || !duckdb_string_t_length(s[i]))
			continue;
		id = merge_texts__id(&m->texts[n], m->tab, &s[i], m->chunk);
		if (!id)
			return -ENOMEM;
		memcpy(at, &id, sizeof(id));
	}
	return 0;
}

/* Copies values that have the same bits in a row. */
static void mergerows_fill_bits(struct merge_rows *m, const struct cells *c,
				const struct column *column, idx_t cnt)
{
	char *at = (char *)m->rows + column->off;
	size_t width = column__width(column);

	for (idx_t i = 0; i < cnt; i++, at += sizeof(*m->rows)) {
		if (!mergerows_cell_is_there(c, i))
			continue;
		if (width == 8)
			memcpy(at, (const uint64_t *)c->data + i, 8);
		else
			memcpy(at, (const uint32_t *)c->data + i, 4);
	}
}

/* Converts integers of another width. */
static void mergerows_fill_integers(struct merge_rows *m, const struct cells *c,
				    const struct column *column, idx_t cnt)
{
	char *at = (char *)m->rows + column->off;

	for (idx_t i = 0; i < cnt; i++, at += sizeof(*m->rows)) {
		int64_t v = cells__int(c, i);
		int32_t narrow = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;

		if (column__width(column) == 8)
			memcpy(at, &v, 8);
		else
			memcpy(at, &narrow, 4);
	}
}

static void mergerows_fill_present(struct merge_rows *m, const struct cells *c, uint32_t bit,
				   idx_t cnt)
{
	for (idx_t i = 0; i < cnt; i++)
		m->rows[i].present |= mergerows_cell_is_there(c, i) ? bit : 0;
}

static bool mergerows_is_same_bits(const struct column *column, duckdb_type type)
{
	if (type == DUCKDB_TYPE_UBIGINT)
		return column->type == COLUMN_UINT64;
	return type == (column->type == COLUMN_INT32 ? DUCKDB_TYPE_INTEGER : DUCKDB_TYPE_BIGINT);
}

static int mergerows_take_column(struct merge_rows *m, const struct cells *c, size_t n, idx_t cnt)
{
	const struct column *column = &events_table.columns[m->o.columns->of[n]];

	if (column->present)
		mergerows_fill_present(m, c, column->present, cnt);
	if (column__is_bytes(column))
		return mergerows_fill_texts(m, c, n, cnt);
	if (mergerows_is_same_bits(column, c->type))
		mergerows_fill_bits(m, c, column, cnt);
	else
		mergerows_fill_integers(m, c, column, cnt);
	return 0;
}

static int mergerows_take_chunk(struct merge_rows *m, duckdb_data_chunk chunk)
{
	idx_t cnt = duckdb_data_chunk_get_size(chunk);
	int err = 0;

	assert(cnt <= CHUNK_ROWS);
	if (mergerows_must_flush(m, cnt))
		err = merge_rows_flush(m);
	memset(m->rows, 0, cnt * sizeof(*m->rows));
	m->chunk = m->chunk == UINT32_MAX ? 1 : m->chunk + 1;
	for (size_t n = 0; n < m->o.columns->cnt && !err; n++) {
		struct cells c = cells__on(duckdb_data_chunk_get_vector(chunk, n));

		err = mergerows_take_column(m, &c, n, cnt);
	}
	return err ? err : mergerows_keep_rows(m, cnt);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Returns -EBADMSG if a column of the inputs has a type that its column of the table does not take.
 */
static int mergerows_check_types(const struct merge_rows *m, duckdb_result *result, char *why)
{
	for (size_t n = 0; n < m->o.columns->cnt; n++) {
		const struct column *column = &events_table.columns[m->o.columns->of[n]];
		duckdb_type type = duckdb_column_type(result, n);
		bool good = column->type == COLUMN_STRING ? type == DUCKDB_TYPE_VARCHAR
			    : column->type == COLUMN_BINARY
				    ? type == DUCKDB_TYPE_BLOB || type == DUCKDB_TYPE_VARCHAR
				    : cells__type_is_integer(type);

		if (good)
			continue;
		snprintf(why, MERGE_WHY_SZ, "its column '%s' holds something else", column->name);
		return -EBADMSG;
	}
	return 0;
}

static int mergerows_take_rows(struct merge_rows *m, duckdb_result *result)
{
	duckdb_data_chunk chunk;
	int err = 0;

	while (!err && (chunk = duckdb_fetch_chunk(*result))) {
		if (duckdb_data_chunk_get_size(chunk))
			err = mergerows_take_chunk(m, chunk);
		duckdb_destroy_data_chunk(&chunk);
	}
	return !err && duckdb_result_error(result) ? -EIO : err;
}

static int mergerows_read_rows(struct merge_rows *m, const char *sql, char *why)
{
	duckdb_prepared_statement query = NULL;
	duckdb_result result = { 0 };
	const char *words = NULL;
	int err = 0;

	if (duckdb_prepare(m->o.db->connection, sql, &query) != DuckDBSuccess) {
		words = duckdb_prepare_error(query);
		err = -EIO;
	} else if (duckdb_execute_prepared_streaming(query, &result) != DuckDBSuccess) {
		err = -EIO;
	}
	if (!err)
		err = mergerows_check_types(m, &result, why);
	if (!err)
		err = mergerows_take_rows(m, &result);
	words = words ? words : duckdb_result_error(&result);
	if (err == -EIO)
		snprintf(why, MERGE_WHY_SZ, "%s", words ? words : "out of memory");
	duckdb_destroy_result(&result);
	duckdb_destroy_prepare(&query);
	return err ? err : merge_rows_flush(m);
}

int merge_rows__write(struct merge_rows *m, char why[MERGE_WHY_SZ])
{
	struct buf sql = { 0 };
	int err;

	buf__printf(&sql,
		    "SELECT %s FROM read_parquet(getvariable('merge_files'), "
		    "hive_partitioning => false) WHERE timestamp >= getvariable('merge_from') "
		    "AND timestamp < getvariable('merge_to')",
		    (const char *)m->o.columns->select.data);
	buf__u8(&sql, 0);
	err = buf__err(&sql);
	if (!err)
		err = mergerows_read_rows(m, (const char *)sql.data, why);
	buf__free(&sql);
	return err;
}

int merge_rows__finish(struct merge_rows *m, uint64_t *cnt)
{
	*cnt = m->row_cnt;
	return parquet__finish(m->parquet);
}
