/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a recording into the tables of the page, part by part, with one more thread for the stacks.
 */
#ifndef STACKSEXPORT_WEB_READING_H
#define STACKSEXPORT_WEB_READING_H

#include "stacksexport/web/source.h"

/* Reads all parts. Errors are logged and stored in the source. */
void reading__all(struct source *);

/* Reads begin and end of the recording from its tables. Returns 0 or -errno (already logged). */
int reading__facts(struct source *);

/* Adds the stacks of the connection's files to the model. Returns 0 or -errno (already logged). */
int reading__stacks(struct source *, struct db *);

#endif
