// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/leaf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int leaf_reserve(struct leaf *l, size_t cnt)
{
	l->value_cnt = l->level_cnt = 0;
	if (cnt <= l->cap)
		return 0;
	leaf__free(l);
	l->values = calloc(cnt, sizeof(*l->values));
	l->defs = calloc(cnt, sizeof(*l->defs));
	l->reps = calloc(cnt, sizeof(*l->reps));
	if (!l->values || !l->defs || !l->reps) {
		leaf__free(l);
		return -ENOMEM;
	}
	l->cap = cnt;
	return 0;
}

void leaf__free(struct leaf *l)
{
	free(l->values);
	free(l->defs);
	free(l->reps);
	l->values = NULL;
	l->defs = l->reps = NULL;
	l->cap = 0;
}

/* Moves the values that are not null together; defs has 1 or 0 for each value. */
static size_t leaf_squeeze(uint64_t *values, const uint32_t *defs, size_t cnt)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt; i++) {
		values[n] = values[i];
		n += defs[i];
	}
	return n;
}

int leaf__from_rows(struct leaf *l, const struct batch *b, size_t column, const uint32_t *order)
{
	int err = leaf_reserve(l, b->cnt);

	if (err)
		return err;
	l->column = &b->table->columns[column];
	l->list = NULL;
	l->sorted = b->table->sorted && column == 0;
	l->max_def = l->column->nullable || l->column->optional;
	l->max_rep = 0;
	l->level_cnt = l->value_cnt = b->cnt;
	if (l->column->nullable && !b->vectors[column].data) {
		memset(l->defs, 0, b->cnt * sizeof(*l->defs));
		l->value_cnt = 0;
		return 0;
	}
	batch__values(b, column, order, l->values);
	if (l->column->nullable) {
		batch__defined(b, column, order, l->defs);
		l->value_cnt = leaf_squeeze(l->values, l->defs, b->cnt);
	}
	for (size_t i = 0; i < b->cnt && l->column->optional; i++)
		l->defs[i] = 1;
	return 0;
}

/* Levels of a required list: an element has a definition level of 1 or more, an empty list is one
 * entry with 0 (parquet-format, Nested Encoding). `defined` is for the elements; NULL: none is
 * null. */
static void leaf_put_list_levels(struct leaf *l, const struct batch *b, const uint32_t *defined)
{
	size_t n = 0, element = 0;

	for (size_t row = 0; row < b->cnt; row++) {
		size_t end = element + b->list_cnts[row];

		l->reps[n] = 0;
		l->defs[n] = 0;
		n += element == end;
		for (size_t i = element; i < end; i++) {
			l->reps[n] = i > element;
			l->defs[n++] = 1 + (defined ? defined[i] : 0);
		}
		element = end;
	}
	l->level_cnt = n;
}

int leaf__from_list(struct leaf *l, const struct batch *b, size_t column)
{
	size_t cnt = b->list->cnt;
	int err = leaf_reserve(l, b->cnt + cnt);
	uint32_t *defined = NULL;

	if (err)
		return err;
	l->column = &b->list->table->columns[column];
	l->list = b->table->list_name;
	l->sorted = false;
	l->max_def = 1 + l->column->nullable;
	l->max_rep = 1;
	batch__values(b->list, column, NULL, l->values);
	l->value_cnt = cnt;
	if (l->column->nullable) {
		defined = calloc(cnt + 1, sizeof(*defined));
		if (!defined)
			return -ENOMEM;
		batch__defined(b->list, column, NULL, defined);
		l->value_cnt = leaf_squeeze(l->values, defined, cnt);
	}
	leaf_put_list_levels(l, b, defined);
	free(defined);
	return 0;
}

struct string leaf__string(const struct leaf *l, uint64_t value)
{
	assert(value < l->strings->cnt);
	return l->strings->v[value];
}

static int leaf_cmp_bytes(struct string a, struct string b)
{
	int c = memcmp(a.data, b.data, a.sz < b.sz ? a.sz : b.sz);

	return c ? c : (a.sz > b.sz) - (a.sz < b.sz);
}

int leaf__cmp(const struct leaf *l, uint64_t a, uint64_t b)
{
	if (a == b)
		return 0;
	if (column__is_bytes(l->column))
		return leaf_cmp_bytes(leaf__string(l, a), leaf__string(l, b));
	if (l->column->type == COLUMN_UINT64)
		return a < b ? -1 : 1;
	return (int64_t)a < (int64_t)b ? -1 : 1;
}
