/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording in one page of Markdown. */
#ifndef STACKSEXPORT_EXPLAIN_H
#define STACKSEXPORT_EXPLAIN_H

#include "stacksexport/request.h"

/* Appends the page of the selection. Returns 0 or -errno (reported). */
int explain__page(struct request *, struct buf *out);

#endif
