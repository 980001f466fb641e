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
	b->list_cnts = malloc(cap * sizeof(*b->list_cnts));
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

struct batch *batch__view(const struct batch *b, size_t cnt)
{
	size_t sz = sizeof(*b) + b->table->column_cnt * sizeof(*b->vectors);
	struct batch *view = malloc(sz);

	if (!view)
		return NULL;
	memcpy(view, b, sz);
	view->cnt = cnt;
	return view;
}

size_t batch__sz(const struct batch *b)
{
	size_t sz = sizeof(*b);

	for (size_t i = 0; i < b->table->column_cnt; i++) {
		sz += b->vectors[i].data ? b->cnt * column__width(&b->table->columns[i]) : 0;
		sz += b->vectors[i].present ? b->cnt : 0;
	}
	return b->list ? sz + b->cnt * sizeof(*b->list_cnts) + batch__sz(b->list) : sz;
}

/* Sets the defaults of the rows so far to zero. The room of later rows is not touched; calloc()
 * would clear reused memory, in a quiet recording 20 MB per batch. */
static int batch_start(struct vector *v, const struct column *c, const struct batch *b)
{
	size_t width = column__width(c);

	v->data = malloc(b->cap * width);
	v->present = c->present ? malloc(b->cap) : NULL;
	if (!v->data || (c->present && !v->present)) {
		free(v->data);
		free(v->present);
		*v = (struct vector){ 0 };
		return -ENOMEM;
	}
	memset(v->data, 0, b->cnt * width);
	if (v->present)
		memset(v->present, 0, b->cnt);
	return 0;
}

/* A field of consecutive structs. */
struct fields {
	const char *at;
	size_t stride, cnt;
};

static struct fields fields__of(const struct table *t, uint32_t off, const void *rows, size_t cnt)
{
	return (struct fields){ (const char *)rows + off, t->row_sz, cnt };
}

static uint64_t batch_any_wide(struct fields f)
{
	uint64_t any = 0, v;

	for (size_t i = 0; i < f.cnt; i++) {
		memcpy(&v, f.at + i * f.stride, sizeof(v));
		any |= v;
	}
	return any;
}

static uint32_t batch_any_narrow(struct fields f)
{
	uint32_t any = 0, v;

	for (size_t i = 0; i < f.cnt; i++) {
		memcpy(&v, f.at + i * f.stride, sizeof(v));
		any |= v;
	}
	return any;
}

static void batch_copy_fields(void *to, struct fields f, size_t width)
{
	if (width == 8)
		for (size_t i = 0; i < f.cnt; i++)
			memcpy((uint64_t *)to + i, f.at + i * f.stride, 8);
	else
		for (size_t i = 0; i < f.cnt; i++)
			memcpy((uint32_t *)to + i, f.at + i * f.stride, 4);
}

static void batch_copy_present(uint8_t *to, struct fields words, uint32_t bits)
{
	for (size_t i = 0; i < words.cnt; i++) {
		uint32_t word;

		memcpy(&word, words.at + i * words.stride, 4);
		to[i] = (word & bits) != 0;
	}
}

static int batch_append_column(struct batch *b, size_t column, const void *rows, size_t cnt)
{
	const struct table *t = b->table;
	const struct column *c = &t->columns[column];
	struct fields values = fields__of(t, c->off, rows, cnt);
	struct fields words = fields__of(t, (uint32_t)t->present_off, rows, cnt);
	struct vector *v = &b->vectors[column];
	size_t width = column__width(c);

	if (!v->data) {
		bool other = c->present	  ? (batch_any_narrow(words) & c->present) != 0
			     : width == 8 ? batch_any_wide(values) != 0
					  : batch_any_narrow(values) != 0;

		if (!other)
			return 0;
		if (batch_start(v, c, b) != 0)
			return -ENOMEM;
	}
	batch_copy_fields((char *)v->data + b->cnt * width, values, width);
	if (v->present)
		batch_copy_present(v->present + b->cnt, words, c->present);
	return 0;
}

int batch__append(struct batch *b, const void *rows, size_t cnt)
{
	assert(cnt <= batch__room(b));
	for (size_t i = 0; i < b->table->column_cnt; i++)
		if (batch_append_column(b, i, rows, cnt) != 0)
			return -ENOMEM;
	b->cnt += cnt;
	return 0;
}

int batch__append_list(struct batch *b, const void *row, const void *elements, size_t cnt)
{
	size_t before = b->list->cnt;
	int err = batch__append(b->list, elements, cnt);

	b->list_cnts[b->cnt] = (uint32_t)cnt;
	if (!err)
		err = batch__append(b, row, 1);
	if (err)
		b->list->cnt = before;
	return err;
}

void batch__get(const struct batch *b, size_t row, void *out)
{
	const struct table *t = b->table;

	memset(out, 0, t->row_sz);
	for (size_t i = 0; i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];
		const struct vector *v = &b->vectors[i];
		size_t width = column__width(c);
		uint32_t word;

		if (!v->data)
			continue;
		memcpy((char *)out + c->off, (const char *)v->data + row * width, width);
		if (!v->present || !v->present[row])
			continue;
		memcpy(&word, (char *)out + t->present_off, sizeof(word));
		word |= c->present;
		memcpy((char *)out + t->present_off, &word, sizeof(word));
	}
}

#define WIDEN(type)                         \
	for (size_t i = 0; i < b->cnt; i++) \
	values[i] = (uint64_t)((const type *)data)[order ? order[i] : i]

void batch__values(const struct batch *b, size_t column, const uint32_t *order, uint64_t *values)
{
	const struct column *c = &b->table->columns[column];
	const void *data = b->vectors[column].data;

	if (!data)
		memset(values, 0, b->cnt * sizeof(*values));
	else if (c->type == COLUMN_INT32)
		WIDEN(int32_t);
	else if (column__width(c) == 4)
		WIDEN(uint32_t);
	else
		WIDEN(uint64_t);
}

void batch__defined(const struct batch *b, size_t column, const uint32_t *order, uint32_t *defined)
{
	const struct vector *v = &b->vectors[column];

	if (!v->data)
		memset(defined, 0, b->cnt * sizeof(*defined));
	else if (v->present)
		for (size_t i = 0; i < b->cnt; i++)
			defined[i] = v->present[order ? order[i] : i];
	else
		/* columns without a `present` bit, for which 0 is null, are 4 bytes wide */
		for (size_t i = 0; i < b->cnt; i++)
			defined[i] = ((const uint32_t *)v->data)[order ? order[i] : i] != 0;
}
