// SPDX-License-Identifier: GPL-2.0-or-later
/* Field numbers are those of parquet.thrift. */
#include "store/parquet.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "store/chunk.h"
#include "store/order.h"
#include "store/schema.h"

#define MAGIC	       "PAR1"
#define VERSION_KEY    "stacks.schema_version"
#define SCHEMA_VERSION "1" /* of the columns; grows if a column changes its meaning */

struct row_group {
	size_t row_cnt;
	struct chunk *chunks; /* one per leaf */
};

struct parquet {
	const struct table *table;
	size_t leaf_cnt;
	const char *sources, *version_key;
	struct sink sink;
	struct chunk_writer writer;
	struct leaf leaf;
	struct row_group *groups;
	size_t group_cnt;
	uint64_t row_cnt;
};

int parquet__parse_compression(const char *s, int *level)
{
	uint64_t n = 3;
	char digits[3] = "";

	if (strcmp(s, "none") == 0 || strcmp(s, "uncompressed") == 0) {
		*level = 0;
		return 0;
	}
	if (strncmp(s, "zstd(", 5) == 0 && strlen(s) <= 8 && s[strlen(s) - 1] == ')') {
		memcpy(digits, s + 5, strlen(s) - 6);
		if (parse__u64(digits, &n) != 0)
			return -EINVAL;
	} else if (strcmp(s, "zstd") != 0) {
		return -EINVAL;
	}
	if (n < 1 || n > 22)
		return -EINVAL;
	*level = (int)n;
	return 0;
}

struct parquet *parquet__new(const struct table *table, int fd, const struct parquet_options *o)
{
	struct parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->table = table;
	p->leaf_cnt = schema__leaf_cnt(table);
	p->sources = o->sources;
	p->version_key = o->version_key ? o->version_key : VERSION_KEY;
	p->sink.fd = fd;
	sink__append(&p->sink, MAGIC, 4);
	if (chunk_writer__init(&p->writer, &p->sink, o->zstd_level) != 0) {
		parquet__free(p);
		return errno = ENOMEM, NULL;
	}
	return p;
}

void parquet__free(struct parquet *p)
{
	if (!p)
		return;
	for (size_t g = 0; g < p->group_cnt; g++) {
		for (size_t i = 0; i < p->leaf_cnt; i++)
			chunk__free(&p->groups[g].chunks[i]);
		free(p->groups[g].chunks);
	}
	free(p->groups);
	chunk_writer__free(&p->writer);
	leaf__free(&p->leaf);
	sink__free(&p->sink);
	free(p);
}

uint64_t parquet__sz(const struct parquet *p)
{
	return p->sink.off;
}

static struct row_group *parquet_next_group(struct parquet *p)
{
	struct row_group *groups = reallocarray(p->groups, p->group_cnt + 1, sizeof(*groups));
	struct chunk *chunks = calloc(p->leaf_cnt, sizeof(*chunks));

	if (groups)
		p->groups = groups;
	if (!groups || !chunks) {
		free(chunks);
		return NULL;
	}
	groups[p->group_cnt] = (struct row_group){ .chunks = chunks };
	return &groups[p->group_cnt++];
}

static int parquet_write_chunks(struct parquet *p, const struct batch *b, struct row_group *g,
				const uint32_t *order)
{
	size_t flat = p->table->column_cnt;
	int err = 0;

	for (size_t i = 0; i < p->leaf_cnt && !err; i++) {
		err = i < flat ? leaf__from_rows(&p->leaf, b, i, order)
			       : leaf__from_list(&p->leaf, b, i - flat);
		if (!err)
			err = chunk_writer__write(&p->writer, &p->leaf, &g->chunks[i]);
	}
	return err;
}

/* `order`: the rows of the batch in the order in which they are written; NULL: unchanged. */
static int parquet_write_group(struct parquet *p, const struct batch *b,
			       const struct strings *strings, const uint32_t *order)
{
	struct row_group *g = parquet_next_group(p);

	if (!g)
		return -ENOMEM;
	p->leaf.strings = strings;
	g->row_cnt = b->cnt;
	p->row_cnt += b->cnt;
	return parquet_write_chunks(p, b, g, order);
}

int parquet__write(struct parquet *p, const struct batch *b, const struct strings *strings)
{
	uint32_t *order = NULL;
	int err = 0;

	if (!b->cnt)
		return 0;
	if (p->table->sorted)
		order = batch__order(b, &err);
	if (!err)
		err = parquet_write_group(p, b, strings, order);
	free(order);
	return err;
}

int parquet__write_rows(struct parquet *p, const struct batch *b, const struct strings *strings,
			const struct batch_rows *rows)
{
	struct batch *some;
	int err;

	if (!rows->cnt)
		return 0;
	some = batch__view(b, rows->cnt);
	err = some ? parquet_write_group(p, some, strings, rows->rows) : -ENOMEM;
	free(some);
	return err;
}

/* ---- footer --------------------------------------------------------------------------------- */

struct place {
	int64_t off;
	int32_t sz;
};

/* Appends an index of a chunk and returns its place. */
static struct place parquet_put_index(struct parquet *p, const struct buf *index)
{
	struct place at = { (int64_t)p->sink.off, (int32_t)index->sz };

	sink__append(&p->sink, index->data, index->sz);
	return at;
}

static void parquet_put_chunk(struct thrift *t, const struct chunk *c, const struct place *column,
			      const struct place *offset)
{
	thrift__element(t);
	thrift__i64(t, 2, 0);
	thrift__encoded(t, 3, &c->meta);
	thrift__i64(t, 4, offset->off);
	thrift__i32(t, 5, offset->sz);
	thrift__i64(t, 6, column->off);
	thrift__i32(t, 7, column->sz);
	thrift__end(t);
}

static void parquet_put_sorting(struct thrift *t)
{
	thrift__list(t, 4, THRIFT_STRUCT, 1);
	thrift__element(t);
	thrift__i32(t, 1, 0);
	thrift__bool(t, 2, false); /* descending */
	thrift__bool(t, 3, false); /* nulls first */
	thrift__end(t);
}

/* places: of the column indexes, then of the offset indexes of the group. */
static void parquet_put_row_group(struct thrift *t, const struct parquet *p, size_t group,
				  const struct place *places)
{
	const struct row_group *g = &p->groups[group];
	uint64_t raw_sz = 0, stored_sz = 0;

	thrift__element(t);
	thrift__list(t, 1, THRIFT_STRUCT, p->leaf_cnt);
	for (size_t i = 0; i < p->leaf_cnt; i++) {
		parquet_put_chunk(t, &g->chunks[i], &places[i],
				  &places[p->leaf_cnt * p->group_cnt + i]);
		raw_sz += g->chunks[i].raw_sz;
		stored_sz += g->chunks[i].stored_sz;
	}
	thrift__i64(t, 2, (int64_t)raw_sz);
	thrift__i64(t, 3, (int64_t)g->row_cnt);
	if (p->table->sorted)
		parquet_put_sorting(t);
	thrift__i64(t, 5, (int64_t)g->chunks[0].off);
	thrift__i64(t, 6, (int64_t)stored_sz);
	if (group <= INT16_MAX)
		thrift__i16(t, 7, (int16_t)group);
	thrift__end(t);
}

static void parquet_put_key(struct thrift *t, const char *key, const char *value)
{
	thrift__element(t);
	thrift__string(t, 1, key);
	thrift__string(t, 2, value);
	thrift__end(t);
}

static void parquet_put_footer(struct parquet *p, struct buf *out, const struct place *places)
{
	struct thrift t = thrift__on(out);

	thrift__i32(&t, 1, 1); /* version */
	schema__put(&t, p->table);
	thrift__i64(&t, 3, (int64_t)p->row_cnt);
	thrift__list(&t, 4, THRIFT_STRUCT, p->group_cnt);
	for (size_t g = 0; g < p->group_cnt; g++)
		parquet_put_row_group(&t, p, g, places + g * p->leaf_cnt);
	thrift__list(&t, 5, THRIFT_STRUCT, 3);
	parquet_put_key(&t, p->version_key, SCHEMA_VERSION);
	parquet_put_key(&t, "stacks.version", STACKS_VERSION);
	parquet_put_key(&t, "stacks.sources", p->sources);
	thrift__string(&t, 6, "stacks version " STACKS_VERSION " (build " STACKS_VERSION ")");
	schema__put_orders(&t, p->table);
	thrift__end(&t);
}

/* Writes all column indexes, then all offset indexes (parquet-format, PageIndex.md). */
static void parquet_put_indexes(struct parquet *p, struct place *places)
{
	for (size_t g = 0; g < p->group_cnt; g++)
		for (size_t i = 0; i < p->leaf_cnt; i++)
			*places++ = parquet_put_index(p, &p->groups[g].chunks[i].column_index);
	for (size_t g = 0; g < p->group_cnt; g++)
		for (size_t i = 0; i < p->leaf_cnt; i++)
			*places++ = parquet_put_index(p, &p->groups[g].chunks[i].offset_index);
}

int parquet__finish(struct parquet *p)
{
	struct place *places = calloc(2 * p->leaf_cnt * p->group_cnt + 1, sizeof(*places));
	struct buf footer = { 0 };
	uint32_t sz;
	int err;

	if (!places)
		return -ENOMEM;
	parquet_put_indexes(p, places);
	parquet_put_footer(p, &footer, places);
	free(places);
	sz = htole32((uint32_t)footer.sz);
	sink__append(&p->sink, footer.data, footer.sz);
	sink__append(&p->sink, &sz, 4);
	sink__append(&p->sink, MAGIC, 4);
	err = buf__err(&footer) ? buf__err(&footer) : sink__flush(&p->sink);
	buf__free(&footer);
	return err;
}
