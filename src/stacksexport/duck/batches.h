/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the batches of a recording that can be read. The files may be hostile or damaged. */
#ifndef STACKSEXPORT_DUCK_BATCHES_H
#define STACKSEXPORT_DUCK_BATCHES_H

#include "stacksexport/duck/db.h"

/*
 * Leaves out the batches of `files` that are not valid parts of a recording, with a warning for
 * each, and passes the others to the database. Returns 0, -EBADMSG if none is left, or -errno
 * (already logged).
 */
int batches__check(struct db *, struct recfiles *files);

/* Reports which files are damaged, after a query failed to read. Reads all of them. */
void batches__blame(struct db *, const struct recfiles *files);

#endif
