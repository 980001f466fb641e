/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views and macros that DuckDB gets when a statement first mentions them. DuckDB binds a view when
 * it is created: to create all those of sql/stacks.sql takes a third of the CPU time of a short
 * command.
 */
#ifndef STACKSEXPORT_DUCK_DEFINITIONS_H
#define STACKSEXPORT_DUCK_DEFINITIONS_H

#include <stdbool.h>

struct definitions;

/* Returns NULL if out of memory. */
struct definitions *definitions__new(void);
void definitions__free(struct definitions *);

/*
 * Keeps a copy of a statement that begins with CREATE [OR REPLACE] VIEW or MACRO [IF NOT EXISTS]
 * and a name without a schema. A later one of the same name replaces it, unless it has IF NOT
 * EXISTS. Returns 1 if it is such a statement, 0 if it is another one, which the caller has to run,
 * or -ENOMEM.
 */
int definitions__keep(struct definitions *, const char *statement);

/* Runs one statement. Returns 0 or -errno. */
typedef int (*definitions_fn)(const char *statement, void *arg);

/* Runs the kept statements that define what `sql` mentions, and what these mention, each once. Runs
 * all if `sql` lists what exists (SHOW TABLES). A literal that is a name counts as one:
 * query_table('events'). Returns 0 or the first error. */
int definitions__make(struct definitions *, const char *sql, definitions_fn, void *arg);

/* Returns true if some were not run yet. */
bool definitions__has_more(const struct definitions *);

/* Runs all that were not run. Returns 0 or the first error. */
int definitions__make_all(struct definitions *, definitions_fn, void *arg);

#endif
