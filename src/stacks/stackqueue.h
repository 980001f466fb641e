/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks in the order in which they came. A queue of zeros is empty. */
#ifndef STACKS_STACKQUEUE_H
#define STACKS_STACKQUEUE_H

#include "stacks/stackjob.h"

struct stack_queue {
	struct stack_job *first, **last; /* last: the link for the next one */
};

/* Takes ownership of the stack. */
static inline void stack_queue__put(struct stack_queue *q, struct stack_job *j)
{
	j->next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = j;
	q->last = &j->next;
}

/* Returns the first stack, for the caller to free, or NULL. */
static inline struct stack_job *stack_queue__take(struct stack_queue *q)
{
	struct stack_job *j = q->first;

	if (j)
		q->first = j->next;
	return j;
}

/* Frees all stacks. */
static inline void stack_queue__clear(struct stack_queue *q)
{
	struct stack_job *j;

	while ((j = stack_queue__take(q)) != NULL)
		stack_job__free(j);
}

#endif
