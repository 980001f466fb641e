/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers for functions, so that a query handles the names of a function once and not once per
 * frame of each stack:
 *
 *   function_ids(frames)   the functions of a list of frames (function_of() of stacks.sql)
 *   first_of_each(ids)     the numbers of a list, each once, in the order of the list
 *   FROM functions_seen()  id, name and module of all functions that have a number
 *
 * The numbers differ from run to run, as DuckDB's threads give them out.
 */
#ifndef STACKSEXPORT_DUCK_FUNCTIONIDS_H
#define STACKSEXPORT_DUCK_FUNCTIONIDS_H

#include "stacksexport/duck/db.h"
#include "stacksexport/duck/functionat.h"

/* Registers them in the database; borrows `places`. Returns 0 or -errno (already logged). */
int function_ids__register(struct db *, struct function_places *places);

#endif
