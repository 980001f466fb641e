/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which batches of a recording can be read. Their files may come from anybody, or from a bad disk.
 */
#ifndef STACKSEXPORT_DUCK_BATCHES_H
#define STACKSEXPORT_DUCK_BATCHES_H

#include "stacksexport/duck/db.h"

/*
 * Takes the batches out of `files` that are not what a recording is made of, with a warning for
 * each, and tells the database which are left. 0; -EBADMSG when none is, or -errno; reports.
 */
int batches__check(struct db *, struct recfiles *files);

/* After a query has failed while reading: says which files are damaged. Reads all of them. */
void batches__blame(struct db *, const struct recfiles *files);

#endif
