/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a recording into the tables of the page, part by part, with one more thread for the stacks.
 */
#ifndef STACKSEXPORT_WEB_READING_H
#define STACKSEXPORT_WEB_READING_H

#include "stacksexport/web/source.h"

/* Reads all parts. Errors are logged and stored in the source. */
void reading__all(struct source *);

/*
 * Reads more batches than before: the stacks of `fresh`, and the rows of `all` in place of those
 * that were read, which requests see until then. `all` has to live as long as the source. Returns 0
 * or -errno (already logged).
 */
int reading__again(struct source *, const struct recfiles *fresh, const struct recfiles *all);

#endif
