/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ?command and ?buildid in a query: bare, quoted ('?command') or inside a longer literal
 * ('%?command%'). They become DuckDB's named parameters, so that their values are never part of
 * the SQL. A query that tests whether one IS NULL can run without it.
 */
#ifndef STACKSEXPORT_DUCK_PARAMS_H
#define STACKSEXPORT_DUCK_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

enum param { PARAM_COMMAND, PARAM_BUILDID, PARAM_CNT };

/* The names without the question mark; also the names of the bound parameters. */
extern const char *const param_names[PARAM_CNT];

/* The statements of a query, in order, each ready to be prepared. */
struct statements {
	char **sql;
	size_t cnt;
	bool uses[PARAM_CNT], optional[PARAM_CNT];
};

/* Returns 0, -ENOMEM, or -EINVAL if a literal, an identifier or a comment does not end. */
int statements__parse(struct statements *, const char *text);
void statements__free(struct statements *);

#endif
