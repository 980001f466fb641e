// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/functionsums.h"

#include <errno.h>
#include <stdlib.h>

static int functionsums_table_fill(struct function_table *t, struct calltree *tree,
				   const struct metric_sums *sums)
{
	const struct trie *trie = calltree__trie(tree);
	const bool *recursive = calltree__recursive(tree);
	int64_t *total = calloc(trie__cnt(trie), sizeof(*total));

	if (!recursive || !total) {
		free(total);
		return -ENOMEM;
	}
	trie__sum(trie, sums->values.values, total);
	t->total = total[TRIE_ROOT];
	for (uint32_t node = 1; node < trie__cnt(trie); node++) {
		struct function_sums *row = &t->rows[trie__function(trie, node)];

		row->self = trie__add(row->self, sums->values.values[node]);
		row->events = trie__add(row->events, sums->events.values[node]);
		row->total = trie__add(row->total, recursive[node] ? 0 : total[node]);
	}
	free(total);
	return 0;
}

int function_table__make(struct function_table *t, const struct metric_shape *shape,
			 const struct metric_sums *sums)
{
	*t = (struct function_table){ .cnt = stackset__function_cnt(shape->model->stacks) };
	t->rows = calloc(t->cnt ? t->cnt : 1, sizeof(*t->rows));
	for (size_t i = 0; t->rows && i < t->cnt; i++)
		t->rows[i].function = (uint32_t)i;
	return t->rows ? functionsums_table_fill(t, shape->tree, sums) : -ENOMEM;
}

void function_table__free(struct function_table *t)
{
	free(t->rows);
	*t = (struct function_table){ 0 };
}
