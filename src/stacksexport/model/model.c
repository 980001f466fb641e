// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/model.h"

#include <errno.h>
#include <string.h>

int model__init(struct model *m, const char *binary)
{
	*m = (struct model){ 0 };
	pthread_mutex_init(&m->lock, NULL);
	m->binaries = binaries__new(binary);
	if (m->binaries)
		m->stacks = stackset__new(m->binaries);
	return m->stacks ? 0 : -ENOMEM;
}

void model__free(struct model *m)
{
	for (size_t i = 0; i < MODEL_TREES_MAX; i++)
		calltree__free(m->trees[i]);
	stackset__free(m->stacks);
	binaries__free(m->binaries);
	pthread_mutex_destroy(&m->lock);
}

static bool model_tree_has(const struct calltree *t, const struct calltree_options *o)
{
	const struct calltree_options *of = calltree__options(t);

	return of->merge == o->merge && of->hide == o->hide;
}

/* Returns the tree's place, or the place of the tree that was not used for longest, which is
 * freed. */
static size_t model_place(struct model *m, const struct calltree_options *o)
{
	size_t i = 0;

	while (i < MODEL_TREES_MAX && m->trees[i] && !model_tree_has(m->trees[i], o))
		i++;
	if (i < MODEL_TREES_MAX)
		return i;
	calltree__free(m->trees[--i]);
	m->trees[i] = NULL;
	return i;
}

struct calltree *model__tree(struct model *m, const struct calltree_options *o)
{
	size_t at = model_place(m, o);
	struct calltree *tree = m->trees[at] ? m->trees[at] : calltree__new(m->stacks, o);

	memmove(&m->trees[1], &m->trees[0], at * sizeof(m->trees[0]));
	m->trees[0] = tree;
	return tree;
}
