/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of all open recordings and the trees that are built from them, shared by several
 * threads. */
#ifndef STACKSEXPORT_MODEL_MODEL_H
#define STACKSEXPORT_MODEL_MODEL_H

#include <pthread.h>

#include "stacksexport/model/calltree.h"

#define MODEL_TREES_MAX 4

/* All fields belong to `lock`. */
struct model {
	pthread_mutex_t lock;
	struct binaries *binaries;
	struct stackset *stacks;
	struct calltree *trees[MODEL_TREES_MAX]; /* the latest used first */
};

/* `binary` is the file of option -b, or NULL. Returns 0 or -ENOMEM; call model__free() in either
 * case. */
int model__init(struct model *, const char *binary);
void model__free(struct model *);

/* Returns the tree with these options, which is built at the first request; NULL if out of memory.
 * Must hold `lock` until the tree is no longer used. */
struct calltree *model__tree(struct model *, const struct calltree_options *);

#endif
