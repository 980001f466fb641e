/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows with stacks: beside each column STACK the function in which it is. */
#ifndef STACKSEXPORT_WEB_STACKROWS_H
#define STACKSEXPORT_WEB_STACKROWS_H

#include "stacksexport/web/view.h"

/*
 * Appends the rows of a query as an array of objects. A column `stack` gets a neighbour `where`, a
 * column `X_stack` one `X_where`: the function that waits. Returns 0 or -errno, with the answer's
 * error.
 */
int stack_rows__show(struct web_request *, const char *path, struct answer *);

#endif
