// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/diffgroups.h"

#include <errno.h>
#include <string.h>

#include "stacksexport/web/rootlabels.h"

#define GROUP_MAX 20000

static size_t diffgroups_row_of(const struct diff_groups *g, uint32_t text)
{
	return text < g->cnt ? text : 0;
}

static void groups_add(struct diff_groups *g, enum diff_side side, const struct metric_list *list,
		       const struct root_labels *labels)
{
	for (size_t i = 0; i < list->cnt; i++) {
		const struct metric_value *v = &list->rows[i];

		if (v->label && v->label <= SIDE_SLICE_CNT)
			diff_series__add(&g->series, side,
					 diffgroups_row_of(g, root_labels__text(labels, v->root)),
					 v->label - 1, v->value);
	}
}

int diff_groups__make(struct diff_groups *g, struct sides *s)
{
	struct root_labels labels[SIDE_CNT] = { 0 };
	int err;

	*g = (struct diff_groups){ .names = strtab__new() };
	err = g->names ? 0 : -ENOMEM;
	for (int side = 0; side < SIDE_CNT && !err; side++)
		err = root_labels__read(&labels[side], g->names, &s->of[side].rows.labels);
	if (!err) {
		g->cnt = strtab__cnt(g->names) < GROUP_MAX ? strtab__cnt(g->names) : GROUP_MAX;
		err = diff_series__init(&g->series, g->cnt, s->scale);
	}
	for (int side = 0; side < SIDE_CNT && !err; side++)
		groups_add(g, side, &s->of[side].list, &labels[side]);
	for (int side = 0; side < SIDE_CNT; side++)
		root_labels__free(&labels[side]);
	return err ? err : diff_series__compare(&g->series);
}

void diff_groups__free(struct diff_groups *g)
{
	diff_series__free(&g->series);
	strtab__free(g->names);
	*g = (struct diff_groups){ 0 };
}

const char *diff_groups__name(const struct diff_groups *g, size_t row, size_t *sz)
{
	static const char others[] = "[other]";

	if (row || g->cnt == strtab__cnt(g->names))
		return strtab__str(g->names, (uint32_t)row, sz);
	*sz = strlen(others);
	return others;
}
