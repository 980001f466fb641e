// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/encode.h"

/* A dictionary is one page, which readers keep in memory. */
#define DICT_SZ_MAX (8u << 20)

int chunk_writer__init(struct chunk_writer *w, struct sink *sink, int level)
{
	memset(w, 0, sizeof(*w));
	return page_writer__init(&w->pages, sink, level);
}

void chunk_writer__free(struct chunk_writer *w)
{
	page_writer__free(&w->pages);
	dict__free(&w->dict);
	free(w->written.v);
	buf__free(&w->written.bound);
}

/* ---- encoding ------------------------------------------------------------------------------- */

static size_t chunk_plain_sz(const struct leaf *l, const uint64_t *values, size_t cnt)
{
	size_t sz = cnt * column__width(l->column);

	for (size_t i = 0; i < cnt && column__is_bytes(l->column); i++)
		sz += leaf__string(l, values[i]).sz;
	return sz;
}

/* Returns the encoding with the smallest size before compression, of those that fit the type: PLAIN
 * for few or random values, DELTA for times and sizes, DICT for repeated values. Or returns
 * -ENOMEM. */
static int chunk_choose(struct chunk_writer *w, const struct leaf *l)
{
	size_t cnt = l->value_cnt, best_sz, dict_sz = SIZE_MAX, sz;
	bool bytes = column__is_bytes(l->column);
	int best = ENCODING_PLAIN, made = dict__build(&w->dict, l);
	unsigned width = made > 0 ? encode__bits(w->dict.cnt - 1) : 0;

	if (made < 0 || !cnt)
		return made < 0 ? made : ENCODING_PLAIN;
	if (made)
		dict_sz = chunk_plain_sz(l, w->dict.keys, w->dict.cnt);
	/* The length of each string alone takes more than an index. */
	if (bytes && dict_sz <= DICT_SZ_MAX && w->dict.cnt <= cnt / 2)
		return ENCODING_DICT;
	best_sz = chunk_plain_sz(l, l->values, cnt);
	if (dict_sz <= DICT_SZ_MAX && dict_sz + cnt * width / 8 < best_sz) {
		best = ENCODING_DICT;
		best_sz = dict_sz + cnt * width / 8;
	}
	if (bytes || (best == ENCODING_DICT && width <= 8))
		return best;
	/* zstd finds more in whole numbers than deltas of more than 2 bytes save, and nothing in
	 * deltas. */
	if (w->pages.zstd && best_sz > 2 * cnt)
		best_sz = 2 * cnt;
	sz = encode__delta_sz(l->values, cnt, 8 * (unsigned)column__width(l->column));
	return sz < best_sz ? ENCODING_DELTA : best;
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void chunk_find_dict_bounds(struct page *p, const struct dict *d)
{
	const uint32_t *idx = d->idx + p->value_from;
	uint32_t min = d->cnt == 1 ? 0 : UINT32_MAX, max = 0;

	for (size_t i = 0; i < p->value_cnt && d->cnt > 1; i++) {
		min = idx[i] < min ? idx[i] : min;
		max = idx[i] > max ? idx[i] : max;
	}
	p->min = d->keys[min];
	p->max = d->keys[max];
}

static void chunk_find_bounds(struct page *p, const struct leaf *l, const struct dict *d)
{
	const uint64_t *values = l->values + p->value_from;

	if (!p->value_cnt)
		return;
	if (p->encoding == ENCODING_DICT) {
		chunk_find_dict_bounds(p, d);
		return;
	}
	p->min = p->max = values[0];
	for (size_t i = 1; i < p->value_cnt; i++) {
		if (leaf__cmp(l, values[i], p->min) < 0)
			p->min = values[i];
		else if (leaf__cmp(l, values[i], p->max) > 0)
			p->max = values[i];
	}
}

static struct page *chunk_next_page(struct chunk_pages *p)
{
	struct page *v = array__room(p->v, p->cnt, &p->cap, sizeof(*v));

	if (!v)
		return NULL;
	p->v = v;
	return &v[p->cnt];
}

static int chunk_put_data(struct chunk_writer *w, const struct leaf *l, enum encoding encoding)
{
	struct page at = { .encoding = encoding };

	for (w->written.cnt = 0; at.from < l->level_cnt; w->written.cnt++) {
		struct page *p = chunk_next_page(&w->written);
		int err;

		if (!p)
			return -ENOMEM;
		page__cut(&at, l);
		*p = at;
		chunk_find_bounds(p, l, &w->dict);
		err = page_writer__data(&w->pages, p, l, &w->dict);
		if (err)
			return err;
		at.from += at.cnt;
		at.value_from += at.value_cnt;
		at.row_from += at.row_cnt;
	}
	return 0;
}

int chunk_writer__write(struct chunk_writer *w, const struct leaf *l, struct chunk *c)
{
	int encoding = l->sorted ? ENCODING_DELTA : chunk_choose(w, l), err = 0;

	if (encoding < 0)
		return encoding;
	w->written.dict = (struct page){ 0 };
	w->written.zipped = w->pages.zstd != NULL;
	c->off = w->pages.sink->off;
	if (encoding == ENCODING_DICT)
		err = page_writer__dict(&w->pages, &w->written.dict, l, &w->dict);
	if (!err)
		err = chunk_put_data(w, l, (enum encoding)encoding);
	return err ? err : chunk__describe(c, l, &w->written);
}
