// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct batch *batch__new(const struct table *table, size_t cap, size_t list_cap)
{
	struct batch *b = calloc(1, sizeof(*b) + table->column_cnt * sizeof(*b->vectors));

	if (!b)
		return NULL;
	b->table = table;
	b->cap = cap;
	if (!table->list)
		return b;
	b->list = batch__new(table->list, list_cap, 0);
	b->list_cnts = calloc(cap, sizeof(*b->list_cnts));
	if (!b->list || !b->list_cnts) {
		batch__free(b);
		return errno = ENOMEM, NULL;
	}
	return b;
}

void batch__free(struct batch *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->table->column_cnt; i++) {
		free(b->vectors[i].data);
		free(b->vectors[i].present);
	}
	batch__free(b->list);
	free(b->list_cnts);
	free(b);
}

/* calloc is the back-fill: its zeros are the defaults of the rows so far, and pages that no row
 * reaches are never touched. */
static int start(struct vector *v, const struct column *c, size_t cap)
{
	uint8_t *data = calloc(cap, column__width(c));

	if (c->present && !v->present)
		v->present = calloc(cap, 1);
	if (!data || (c->present && !v->present)) {
		free(data);
		return -ENOMEM;
	}
	v->data = data;
	return 0;
}

static uint64_t load(const void *at, size_t width)
{
	uint64_t wide;
	uint32_t narrow;

	if (width == 8) {
		memcpy(&wide, at, 8);
		return wide;
	}
	memcpy(&narrow, at, 4);
	return narrow;
}

static void set(const struct batch *b, size_t column, uint64_t value, bool present)
{
	const struct column *c = &b->table->columns[column];
	const struct vector *v = &b->vectors[column];

	if (column__width(c) == 8) {
		memcpy(v->data + b->cnt * 8, &value, 8);
	} else {
		uint32_t narrow = (uint32_t)value;

		memcpy(v->data + b->cnt * 4, &narrow, 4);
	}
	if (v->present)
		v->present[b->cnt] = present;
}

int batch__add(struct batch *b, const void *row)
{
	const struct table *t = b->table;
	uint32_t word = (uint32_t)load((const char *)row + t->present_off, 4);

	assert(b->cnt < b->cap);
	for (size_t i = 0; i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];
		uint64_t value = load((const char *)row + c->off, column__width(c));
		bool other = c->present ? (word & c->present) != 0 : value != 0;

		if (!b->vectors[i].data && (!other || start(&b->vectors[i], c, b->cap) != 0)) {
			if (other)
				return -ENOMEM;
			continue;
		}
		set(b, i, other ? value : 0, other);
	}
	b->cnt++;
	return 0;
}

int batch__add_list(struct batch *b, const void *row, const void *elements, size_t cnt)
{
	size_t before = b->list->cnt;
	int err = 0;

	assert(cnt <= batch__room(b->list));
	for (size_t i = 0; i < cnt && !err; i++)
		err = batch__add(b->list, (const char *)elements + i * b->table->list->row_sz);
	b->list_cnts[b->cnt] = (uint32_t)cnt;
	if (!err)
		err = batch__add(b, row);
	if (err)
		b->list->cnt = before;
	return err;
}

uint64_t batch__value(const struct batch *b, size_t column, size_t row)
{
	const struct column *c = &b->table->columns[column];
	size_t width = column__width(c);
	uint64_t value;

	if (!b->vectors[column].data)
		return 0;
	value = load(b->vectors[column].data + row * width, width);
	return c->type == COLUMN_INT32 ? (uint64_t)(int64_t)(int32_t)(uint32_t)value : value;
}

bool batch__is_null(const struct batch *b, size_t column, size_t row)
{
	const struct column *c = &b->table->columns[column];

	if (!c->nullable)
		return false;
	if (!c->present)
		return batch__value(b, column, row) == 0;
	return !b->vectors[column].present || !b->vectors[column].present[row];
}
