/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows with stacks. Beside each column of stacks, others have the function in which the thread
 * waits, and that of the program that called it. */
#ifndef STACKSEXPORT_WEB_STACKROWS_H
#define STACKSEXPORT_WEB_STACKROWS_H

#include "stacksexport/web/view.h"

/*
 * Appends the rows of a query as an array of objects. A column `stack` (page.stack_text()) gets a
 * neighbour `where`, a column `X_stack` one `X_where`: the function that waits. `caller`,
 * `X_caller`: the innermost named function outside of the kernel, libraries and interpreters, else
 * empty. Returns 0 or -errno, with the answer's error.
 */
int stack_rows__show(struct web_request *, const char *path, struct answer *);

#define STACK_IDS_MAX 2

/* Reads the IDs in the text of page.stack_text(): "0123456789abcdef-…", innermost first. */
struct stack_ids {
	uint64_t ids[STACK_IDS_MAX];
	size_t cnt;
};

/* Returns false if the text has another form. */
bool stack_ids__parse(struct stack_ids *, const char *text, size_t sz);

#endif
