/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of SQL over lists of numbers of functions (duck/functionids.h):
 *
 *   first_of_each(ids)     the numbers of a list, each once, in the order of the list
 *   waiting_of(ids)        where a thread with this stack waits (model/waiting.h): [call, waits_in,
 *                          1 if it waits for work, waits_in, its callers …]; 0 is no function
 */
#ifndef STACKSEXPORT_DUCK_IDLISTS_H
#define STACKSEXPORT_DUCK_IDLISTS_H

#include "stacksexport/duck/functionids.h"

/* Registers them in the database; borrows the numbers. Returns 0 or -errno (already logged). */
int id_lists__register(struct db *, struct function_numbers *);

#endif
