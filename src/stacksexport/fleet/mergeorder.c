// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeorder.h"

#include <stdlib.h>
#include <string.h>

#include "store/order.h"

/* A text of a column. */
struct ranked {
	struct string text;
	uint32_t id;
};

static int ranked_compare(const void *pa, const void *pb)
{
	const struct string a = ((const struct ranked *)pa)->text,
			    b = ((const struct ranked *)pb)->text;
	int c = memcmp(a.data, b.data, a.sz < b.sz ? a.sz : b.sz);

	return c ? c : (a.sz > b.sz) - (a.sz < b.sz);
}

/* Returns how many texts the rows have, and sets ranks[id] to the place of each in the order of
 * their bytes. */
static uint32_t mergeorder_rank_texts(const uint32_t *ids, size_t cnt, const struct strings *s,
				      uint32_t *ranks, struct ranked *texts)
{
	uint32_t n = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (ranks[ids[i]])
			continue;
		ranks[ids[i]] = 1;
		texts[n++] = (struct ranked){ s->v[ids[i]], ids[i] };
	}
	if (n)
		qsort(texts, n, sizeof(*texts), ranked_compare);
	for (uint32_t i = 0; i < n; i++)
		ranks[texts[i].id] = i;
	return n;
}

/* Scatters the rows by the rank of their text; keeps the order of those with the same one. */
static void mergeorder_scatter(const uint32_t *ids, size_t cnt, const uint32_t *ranks,
			       uint32_t *starts, const uint32_t *from, uint32_t *to)
{
	for (size_t i = 0; i < cnt; i++)
		starts[ranks[ids[i]] + 1]++;
	for (size_t r = 0; starts[r] < cnt; r++)
		starts[r + 1] += starts[r];
	for (size_t i = 0; i < cnt; i++)
		to[starts[ranks[ids[from[i]]]]++] = from[i];
}

/* Sorts *order by a column of texts, with *other as room for as many rows; swaps the two. Returns
 * false without memory. */
static bool mergeorder_sort_by(const struct batch *b, const struct strings *s, size_t column,
			       uint32_t **order, uint32_t **other)
{
	const uint32_t *ids = b->vectors[column].data; /* NULL: all are "" */
	uint32_t *ranks, *starts, *swap = *order;
	struct ranked *texts;
	bool ok;

	if (!ids)
		return true;
	ranks = calloc(s->cnt, sizeof(*ranks));
	texts = calloc(s->cnt, sizeof(*texts));
	starts = calloc(s->cnt + 2, sizeof(*starts));
	ok = ranks && texts && starts;
	if (ok) {
		mergeorder_rank_texts(ids, b->cnt, s, ranks, texts);
		mergeorder_scatter(ids, b->cnt, ranks, starts, *order, *other);
		*order = *other;
		*other = swap;
	}
	free(starts);
	free(texts);
	free(ranks);
	return ok;
}

static size_t mergeorder_column_of(const struct table *t, const char *name)
{
	size_t i = 0;

	while (strcmp(t->columns[i].name, name) != 0)
		i++;
	return i;
}

/* The rows by time. */
static uint32_t *mergeorder_begin_order(const struct batch *b)
{
	int err;
	uint32_t *order = batch__order(b, &err);

	if (order || err)
		return order;
	order = calloc(b->cnt, sizeof(*order));
	for (size_t i = 0; order && i < b->cnt; i++)
		order[i] = (uint32_t)i;
	return order;
}

uint32_t *merge_order__of(const struct batch *b, const struct strings *s)
{
	uint32_t *order = mergeorder_begin_order(b), *other = calloc(b->cnt, sizeof(*other));

	if (order && other &&
	    mergeorder_sort_by(b, s, mergeorder_column_of(b->table, "host"), &order, &other) &&
	    mergeorder_sort_by(b, s, mergeorder_column_of(b->table, "command"), &order, &other)) {
		free(other);
		return order;
	}
	free(other);
	free(order);
	return NULL;
}
