// SPDX-License-Identifier: GPL-2.0-or-later
/* Field numbers are those of parquet.thrift. */
#include "store/chunkmeta.h"

#include <errno.h>
#include <string.h>

#include "store/bound.h"
#include "store/thrift.h"

enum codec { CODEC_NONE = 0, CODEC_ZSTD = 6 };

int32_t column__physical(const struct column *c)
{
	static const uint8_t types[COLUMN_TYPE_CNT] = {
		[COLUMN_INT32] = 1,  [COLUMN_INT64] = 2,  [COLUMN_UINT64] = 2,
		[COLUMN_STRING] = 6, [COLUMN_BINARY] = 6,
	};

	return types[c->type];
}

/* Returns the page with the smallest or largest bound, or NULL if no page has a value. */
static const struct page *chunkmeta_extreme(const struct chunk_pages *pages, const struct leaf *l,
					    bool max)
{
	const struct page *best = NULL;

	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++) {
		if (!p->value_cnt)
			continue;
		if (!best || (max ? leaf__cmp(l, p->max, best->max) > 0
				  : leaf__cmp(l, p->min, best->min) < 0))
			best = p;
	}
	return best;
}

static void chunkmeta_put_statistics(struct thrift *t, const struct leaf *l,
				     struct chunk_pages *pages)
{
	const struct page *min = chunkmeta_extreme(pages, l, false),
			  *max = chunkmeta_extreme(pages, l, true);
	bool min_exact, max_exact;

	thrift__struct(t, 12);
	thrift__i64(t, 3, (int64_t)leaf__null_cnt(l));
	if (min) {
		max_exact = bound__max(&pages->bound, l, max->max);
		thrift__binary(t, 5, pages->bound.data, pages->bound.sz);
		min_exact = bound__min(&pages->bound, l, min->min);
		thrift__binary(t, 6, pages->bound.data, pages->bound.sz);
		thrift__bool(t, 7, max_exact);
		thrift__bool(t, 8, min_exact);
	}
	thrift__end(t);
}

static void chunkmeta_put_encodings(struct thrift *t, enum encoding encoding, bool dict)
{
	thrift__list(t, 2, THRIFT_I32, dict ? 3 : 2);
	thrift__item_int(t, ENCODING_RLE);
	if (dict)
		thrift__item_int(t, ENCODING_PLAIN);
	thrift__item_int(t, encoding);
}

static void chunkmeta_put_path(struct thrift *t, const struct leaf *l)
{
	const char *path[] = { l->list, "list", "element", l->column->name };
	size_t from = l->list ? 0 : 3;

	thrift__list(t, 3, THRIFT_BINARY, 4 - from);
	for (size_t i = from; i < 4; i++)
		thrift__item_binary(t, path[i], strlen(path[i]));
}

static void chunkmeta_put_encoding_stat(struct thrift *t, enum page_type type, enum encoding e,
					size_t cnt)
{
	thrift__element(t);
	thrift__i32(t, 1, (int32_t)type);
	thrift__i32(t, 2, (int32_t)e);
	thrift__i32(t, 3, (int32_t)cnt);
	thrift__end(t);
}

static void chunkmeta_put_meta(struct chunk *c, const struct leaf *l, struct chunk_pages *pages)
{
	struct thrift t = thrift__on(&c->meta);
	enum encoding encoding = pages->v[0].encoding;

	thrift__i32(&t, 1, column__physical(l->column));
	chunkmeta_put_encodings(&t, encoding, pages->dict.off != 0);
	chunkmeta_put_path(&t, l);
	thrift__i32(&t, 4, pages->zipped ? CODEC_ZSTD : CODEC_NONE);
	thrift__i64(&t, 5, (int64_t)l->level_cnt);
	thrift__i64(&t, 6, (int64_t)c->raw_sz);
	thrift__i64(&t, 7, (int64_t)c->stored_sz);
	thrift__i64(&t, 9, (int64_t)pages->v[0].off);
	if (pages->dict.off)
		thrift__i64(&t, 11, (int64_t)pages->dict.off);
	chunkmeta_put_statistics(&t, l, pages);
	thrift__list(&t, 13, THRIFT_STRUCT, pages->dict.off ? 2 : 1);
	if (pages->dict.off)
		chunkmeta_put_encoding_stat(&t, PAGE_DICT, ENCODING_PLAIN, 1);
	chunkmeta_put_encoding_stat(&t, PAGE_DATA, encoding, pages->cnt);
	thrift__end(&t);
}

/* ---- page index ----------------------------------------------------------------------------- */

static void chunkmeta_put_bounds(struct thrift *t, int id, const struct leaf *l,
				 struct chunk_pages *pages)
{
	thrift__list(t, id, THRIFT_BINARY, pages->cnt);
	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++) {
		buf__reset(&pages->bound);
		if (p->value_cnt && id == 2)
			bound__min(&pages->bound, l, p->min);
		else if (p->value_cnt)
			bound__max(&pages->bound, l, p->max);
		thrift__item_binary(t, pages->bound.data, pages->bound.sz);
	}
}

/* Returns whether both bounds never decrease from page to page, ignoring pages of nulls. */
static bool chunkmeta_is_ascending(const struct leaf *l, const struct chunk_pages *pages)
{
	const struct page *last = NULL;

	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++) {
		if (!p->value_cnt)
			continue;
		if (last &&
		    (leaf__cmp(l, last->min, p->min) > 0 || leaf__cmp(l, last->max, p->max) > 0))
			return false;
		last = p;
	}
	return true;
}

static void chunkmeta_put_column_index(struct chunk *c, const struct leaf *l,
				       struct chunk_pages *pages)
{
	struct thrift t = thrift__on(&c->column_index);

	thrift__list(&t, 1, THRIFT_TRUE, pages->cnt);
	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++)
		thrift__item_bool(&t, p->value_cnt == 0);
	chunkmeta_put_bounds(&t, 2, l, pages);
	chunkmeta_put_bounds(&t, 3, l, pages);
	thrift__i32(&t, 4, chunkmeta_is_ascending(l, pages));
	thrift__list(&t, 5, THRIFT_I64, pages->cnt);
	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++)
		thrift__item_int(&t, (int64_t)(p->cnt - p->value_cnt));
	thrift__end(&t);
}

static void chunkmeta_put_offset_index(struct chunk *c, const struct chunk_pages *pages)
{
	struct thrift t = thrift__on(&c->offset_index);

	thrift__list(&t, 1, THRIFT_STRUCT, pages->cnt);
	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++) {
		thrift__element(&t);
		thrift__i64(&t, 1, (int64_t)p->off);
		thrift__i32(&t, 2, (int32_t)p->stored_sz);
		thrift__i64(&t, 3, (int64_t)p->row_from);
		thrift__end(&t);
	}
	thrift__end(&t);
}

void chunk__free(struct chunk *c)
{
	buf__free(&c->meta);
	buf__free(&c->column_index);
	buf__free(&c->offset_index);
}

int chunk__describe(struct chunk *c, const struct leaf *l, struct chunk_pages *pages)
{
	c->raw_sz = pages->dict.raw_sz;
	c->stored_sz = pages->dict.stored_sz;
	for (const struct page *p = pages->v; p < pages->v + pages->cnt; p++) {
		c->raw_sz += p->raw_sz;
		c->stored_sz += p->stored_sz;
	}
	chunkmeta_put_meta(c, l, pages);
	chunkmeta_put_column_index(c, l, pages);
	chunkmeta_put_offset_index(c, pages);
	return buf__err(&c->meta) || buf__err(&c->column_index) || buf__err(&c->offset_index) ||
			       buf__err(&pages->bound)
		       ? -ENOMEM
		       : 0;
}
