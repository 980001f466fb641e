/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a database with the tables of recordings. */
#ifndef STACKSEXPORT_DUCK_DBOPEN_H
#define STACKSEXPORT_DUCK_DBOPEN_H

#include "stacksexport/duck/db.h"

/*
 * Opens the tables of sql/stacks.sql over those of `files` that can be read (batches.h). `files`
 * must live longer. Returns 0, or -errno after logging what failed; call db__close() in either
 * case.
 */
int db__open(struct db *, struct recfiles *);
/* Leaves the native frames of interpreters out of stacks from now on. Returns 0 or -errno (already
 * logged). */
int db__hide_interpreter(struct db *);

#endif
