// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/leaf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct leaf *l, size_t cnt)
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

int leaf__from_rows(struct leaf *l, const struct batch *b, size_t column, const uint32_t *order)
{
	int err = reserve(l, b->cnt);

	if (err)
		return err;
	l->column = &b->table->columns[column];
	l->max_def = l->column->nullable;
	l->max_rep = 0;
	l->list = NULL;
	for (size_t i = 0; i < b->cnt; i++) {
		size_t row = order ? order[i] : i;
		bool null = batch__is_null(b, column, row);

		l->defs[i] = !null;
		if (!null)
			l->values[l->value_cnt++] = batch__value(b, column, row);
	}
	l->level_cnt = b->cnt;
	return 0;
}

/* Levels of a required list: an empty one is one entry of definition 0 (parquet-format, Nested
 * Encoding). */
static void add_list(struct leaf *l, const struct batch *list, size_t column, size_t *at)
{
	size_t end = at[0] + at[1];

	if (!at[1]) {
		l->reps[l->level_cnt] = 0;
		l->defs[l->level_cnt++] = 0;
	}
	for (size_t i = at[0]; i < end; i++) {
		bool null = batch__is_null(list, column, i);

		l->reps[l->level_cnt] = i > at[0];
		l->defs[l->level_cnt++] = l->max_def - null;
		if (!null)
			l->values[l->value_cnt++] = batch__value(list, column, i);
	}
	at[0] = end;
}

int leaf__from_list(struct leaf *l, const struct batch *b, size_t column)
{
	int err = reserve(l, b->cnt + b->list->cnt);
	size_t at[2] = { 0 }; /* first element of the row, elements */

	if (err)
		return err;
	l->column = &b->list->table->columns[column];
	l->max_def = 1 + l->column->nullable;
	l->max_rep = 1;
	l->list = b->table->list_name;
	for (size_t i = 0; i < b->cnt; i++) {
		at[1] = b->list_cnts[i];
		add_list(l, b->list, column, at);
	}
	return 0;
}

struct slice leaf__slice(const struct leaf *l, uint64_t value)
{
	assert(value < l->strings->cnt);
	return l->strings->v[value];
}

static int cmp_bytes(struct slice a, struct slice b)
{
	int c = memcmp(a.data, b.data, a.sz < b.sz ? a.sz : b.sz);

	return c ? c : (a.sz > b.sz) - (a.sz < b.sz);
}

int leaf__cmp(const struct leaf *l, uint64_t a, uint64_t b)
{
	if (a == b)
		return 0;
	if (column__is_bytes(l->column))
		return cmp_bytes(leaf__slice(l, a), leaf__slice(l, b));
	if (l->column->type == COLUMN_UINT64)
		return a < b ? -1 : 1;
	return (int64_t)a < (int64_t)b ? -1 : 1;
}
