// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/page.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "store/encode.h"
#include "store/thrift.h"

int page_writer__init(struct page_writer *w, struct sink *sink, int level)
{
	*w = (struct page_writer){ .sink = sink };
	if (!level)
		return 0;
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
	return 0;
}

void page_writer__free(struct page_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	buf__free(&w->body);
	buf__free(&w->zipped);
	buf__free(&w->header);
}

static unsigned page_bits(const struct leaf *l)
{
	return 8 * (unsigned)column__width(l->column);
}

static size_t page_plain_sz(const struct leaf *l, size_t value)
{
	if (!column__is_bytes(l->column))
		return column__width(l->column);
	return 4 + leaf__string(l, l->values[value]).sz;
}

/* For lists and plain strings. A value that is not plain is an index of the dictionary or a delta.
 */
static void page_cut_measured(struct page *p, const struct leaf *l)
{
	bool full = p->encoding == ENCODING_PLAIN;
	size_t sz = 0, i = p->from, value = p->value_from, rows = 0;

	for (; i < l->level_cnt; i++) {
		bool row = !l->max_rep || l->reps[i] == 0;

		if (row && (rows == PAGE_ROWS || sz >= PAGE_SZ))
			break;
		rows += row;
		if (l->max_def && l->defs[i] != l->max_def)
			continue;
		sz += full ? page_plain_sz(l, value) : column__width(l->column);
		value++;
	}
	p->cnt = i - p->from;
	p->value_cnt = value - p->value_from;
	p->row_cnt = rows;
	p->values_sz = sz;
}

/* Counts the values that are not null among the next cnt entries. */
static size_t page_count_values(const struct leaf *l, size_t from, size_t cnt)
{
	size_t values = 0;

	if (!leaf__null_cnt(l) || !l->value_cnt)
		return l->value_cnt ? cnt : 0;
	for (size_t i = 0; i < cnt; i++)
		values += l->defs[from + i];
	return values;
}

/* PAGE_ROWS numbers, or as many nulls, are smaller than PAGE_SZ. */
static void page_cut_flat(struct page *p, const struct leaf *l)
{
	size_t left = l->level_cnt - p->from;

	p->row_cnt = p->cnt = left < PAGE_ROWS ? left : PAGE_ROWS;
	p->value_cnt = page_count_values(l, p->from, p->cnt);
	p->values_sz = p->value_cnt * column__width(l->column);
}

void page__cut(struct page *p, const struct leaf *l)
{
	bool long_values =
		column__is_bytes(l->column) && p->encoding == ENCODING_PLAIN && l->value_cnt;

	if (l->max_rep || long_values)
		page_cut_measured(p, l);
	else
		page_cut_flat(p, l);
}

/* ---- body ----------------------------------------------------------------------------------- */

static void page_put_levels(struct buf *out, const uint32_t *levels, size_t cnt, uint32_t max)
{
	size_t at = out->sz;
	uint32_t sz;

	if (!max)
		return;
	buf__u32(out, 0);
	encode__hybrid(out, levels, cnt, encode__bits(max));
	if (buf__err(out))
		return;
	sz = htole32((uint32_t)(out->sz - at - 4));
	memcpy(out->data + at, &sz, 4);
}

static void page_put_plain(struct buf *out, const struct leaf *l, const uint64_t *values,
			   size_t cnt)
{
	if (!column__is_bytes(l->column)) {
		encode__plain(out, values, cnt, page_bits(l));
		return;
	}
	for (size_t i = 0; i < cnt; i++) {
		struct string s = leaf__string(l, values[i]);

		buf__u32(out, (uint32_t)s.sz);
		buf__append(out, s.data, s.sz);
	}
}

/*
 * Returns the bits of an index. With zstd, indexes end at byte boundaries, so that zstd sees
 * repetitions: this saves a third in the columns thread, command and stack of a redis server's
 * switches.
 */
static unsigned page_index_width(const struct page_writer *w, const struct dict *dict)
{
	unsigned width = encode__bits(dict->cnt - 1);

	if (width < 2) /* 0 is legal, but not all readers support it */
		return 1;
	if (!w->zstd)
		return width;
	return width <= 8 ? 1u << encode__bits(width - 1) : (width + 7) / 8 * 8;
}

static void page_put_values(struct page_writer *w, const struct page *p, const struct leaf *l,
			    const struct dict *dict)
{
	const uint64_t *values = l->values + p->value_from;
	unsigned width;

	switch (p->encoding) {
	case ENCODING_DICT:
		width = page_index_width(w, dict);
		buf__u8(&w->body, (uint8_t)width);
		encode__hybrid(&w->body, dict->idx + p->value_from, p->value_cnt, width);
		break;
	case ENCODING_DELTA: encode__delta(&w->body, values, p->value_cnt, page_bits(l)); break;
	case ENCODING_PLAIN: page_put_plain(&w->body, l, values, p->value_cnt); break;
	case ENCODING_RLE: break; /* levels only */
	}
}

/* ---- header and file ------------------------------------------------------------------------ */

/* Sets *stored to the bytes to write: w->body itself, or its one zstd frame. */
static int page_zip(struct page_writer *w, struct buf **stored)
{
	size_t n;

	*stored = &w->body;
	if (buf__err(&w->body))
		return buf__err(&w->body);
	if (!w->zstd)
		return 0;
	*stored = &w->zipped;
	buf__reset(&w->zipped);
	if (!buf__extend(&w->zipped, ZSTD_compressBound(w->body.sz)))
		return -ENOMEM;
	n = ZSTD_compress2(w->zstd, w->zipped.data, w->zipped.sz, w->body.data, w->body.sz);
	if (ZSTD_isError(n))
		return -ENOMEM;
	w->zipped.sz = n;
	return 0;
}

static void page_put_kind(struct thrift *t, const struct page *p, enum page_type type)
{
	if (type == PAGE_DICT) {
		thrift__struct(t, 7);
		thrift__i32(t, 1, (int32_t)p->cnt);
		thrift__i32(t, 2, ENCODING_PLAIN);
		thrift__bool(t, 3, true); /* sorted */
	} else {
		thrift__struct(t, 5);
		thrift__i32(t, 1, (int32_t)p->cnt);
		thrift__i32(t, 2, (int32_t)p->encoding);
		thrift__i32(t, 3, ENCODING_RLE);
		thrift__i32(t, 4, ENCODING_RLE);
	}
	thrift__end(t);
}

/* Appends header and body; the checksum covers the stored bytes. */
static int put_page(struct page_writer *w, struct page *p, enum page_type type)
{
	struct buf *stored;
	struct thrift t = thrift__on(&w->header);
	int err = page_zip(w, &stored);

	if (err)
		return err;
	buf__reset(&w->header);
	thrift__i32(&t, 1, (int32_t)type);
	thrift__i32(&t, 2, (int32_t)w->body.sz);
	thrift__i32(&t, 3, (int32_t)stored->sz);
	thrift__i32(&t, 4, (int32_t)crc32_z(0, stored->data, stored->sz));
	page_put_kind(&t, p, type);
	thrift__end(&t);
	if (buf__err(&w->header))
		return buf__err(&w->header);
	p->off = w->sink->off;
	p->raw_sz = (uint32_t)(w->header.sz + w->body.sz);
	p->stored_sz = (uint32_t)(w->header.sz + stored->sz);
	sink__append(w->sink, w->header.data, w->header.sz);
	sink__append(w->sink, stored->data, stored->sz);
	return w->sink->err;
}

int page_writer__data(struct page_writer *w, struct page *p, const struct leaf *l,
		      const struct dict *dict)
{
	if (p->values_sz > PAGE_MAX)
		return -EFBIG;
	buf__reset(&w->body);
	page_put_levels(&w->body, l->reps + p->from, p->cnt, l->max_rep);
	page_put_levels(&w->body, l->defs + p->from, p->cnt, l->max_def);
	page_put_values(w, p, l, dict);
	return put_page(w, p, PAGE_DATA);
}

int page_writer__dict(struct page_writer *w, struct page *p, const struct leaf *l,
		      const struct dict *dict)
{
	buf__reset(&w->body);
	p->cnt = dict->cnt;
	page_put_plain(&w->body, l, dict->keys, dict->cnt);
	return put_page(w, p, PAGE_DICT);
}
