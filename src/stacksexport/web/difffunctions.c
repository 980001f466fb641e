// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/difffunctions.h"

#include <errno.h>
#include <stdlib.h>

#include "stacksexport/web/functionsums.h"

#define PART_MIN 5000 /* a function with less than 1/5000 of the sum is left out: 0.02 % */
#define KEPT_MAX 20000

static uint64_t difffunctions_magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* A function that frees what others allocate has a small total and a large self value. */
static uint64_t difffunctions_weight_of(const struct function_sums *f)
{
	uint64_t self = difffunctions_magnitude(f->self), total = difffunctions_magnitude(f->total);

	return self > total ? self : total;
}

static int difffunctions_compare_weights(const void *a, const void *b)
{
	uint64_t x = difffunctions_weight_of(a), y = difffunctions_weight_of(b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static int functions_keep(struct diff_functions *d, struct function_table *t)
{
	uint64_t least = difffunctions_magnitude(t->total) / PART_MIN;

	d->functions = calloc(KEPT_MAX, sizeof(*d->functions));
	d->place = calloc(t->cnt + 1, sizeof(*d->place));
	if (!d->functions || !d->place)
		return -ENOMEM;
	for (size_t i = 0; i < t->cnt; i++)
		d->place[i] = KEYMAP_NONE;
	qsort(t->rows, t->cnt, sizeof(*t->rows), difffunctions_compare_weights);
	for (size_t i = 0; i < t->cnt && d->cnt < KEPT_MAX; i++) {
		if (!difffunctions_weight_of(&t->rows[i]) ||
		    difffunctions_weight_of(&t->rows[i]) < least)
			break;
		d->place[t->rows[i].function] = (uint32_t)d->cnt;
		d->functions[d->cnt++] = t->rows[i].function;
	}
	return 0;
}

static int functions_choose(struct diff_functions *d, const struct metric_shape *shape,
			    const struct sides *s)
{
	const struct trie *trie = calltree__trie(shape->tree);
	struct function_table table = { 0 };
	struct metric_sums sums = { 0 };
	int err = 0;

	for (int i = 0; i < SIDE_CNT && !err; i++)
		err = slices__total(&s->of[i].list, trie, &sums.values);
	if (!err)
		err = tree_weights__fit(&sums.events, trie);
	if (!err)
		err = function_table__make(&table, shape, &sums);
	if (!err)
		err = functions_keep(d, &table);
	function_table__free(&table);
	metric_sums__free(&sums);
	return err;
}

/* Adds one stack: to its innermost function, and once to each of its functions. */
static void functions_add(struct diff_functions *d, struct calltree *tree, enum diff_side side,
			  const struct metric_value *v)
{
	const struct trie *trie = calltree__trie(tree);
	const bool *recursive = calltree__recursive(tree);
	size_t slice = v->label - 1;

	if (!v->label || v->label > SIDE_SLICE_CNT)
		return;
	diff_series__add(&d->fields[DIFF_ALL], side, 0, slice, v->value);
	for (uint32_t node = v->node; node != TRIE_ROOT; node = trie__parent(trie, node)) {
		uint32_t place = d->place[trie__function(trie, node)];

		if (place == KEYMAP_NONE)
			continue;
		if (node == v->node)
			diff_series__add(&d->fields[DIFF_SELF], side, place, slice, v->value);
		if (!recursive[node])
			diff_series__add(&d->fields[DIFF_TOTAL], side, place, slice, v->value);
	}
}

int diff_functions__make(struct diff_functions *d, const struct metric_shape *shape,
			 const struct sides *s)
{
	int err = functions_choose(d, shape, s);

	if (!err && !calltree__recursive(shape->tree))
		err = -ENOMEM;
	for (int f = 0; f < DIFF_FIELD_CNT && !err; f++)
		err = diff_series__init(&d->fields[f], f == DIFF_ALL ? 1 : d->cnt, s->scale);
	for (int side = 0; side < SIDE_CNT && !err; side++)
		for (size_t i = 0; i < s->of[side].list.cnt; i++)
			functions_add(d, shape->tree, side, &s->of[side].list.rows[i]);
	for (int f = 0; f < DIFF_FIELD_CNT && !err; f++)
		err = diff_series__compare(&d->fields[f]);
	return err;
}

void diff_functions__free(struct diff_functions *d)
{
	free(d->functions);
	free(d->place);
	for (int f = 0; f < DIFF_FIELD_CNT; f++)
		diff_series__free(&d->fields[f]);
	*d = (struct diff_functions){ 0 };
}

struct diff_change diff_functions__change(const struct diff_functions *d, enum diff_field field,
					  size_t index)
{
	return diff_series__change(&d->fields[field], index);
}
