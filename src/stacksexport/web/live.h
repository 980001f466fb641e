/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that the collector is still writing: its new batches are read as they appear. */
#ifndef STACKSEXPORT_WEB_LIVE_H
#define STACKSEXPORT_WEB_LIVE_H

#include "stacksexport/web/source.h"

/* Follows the recording until it is complete, or until s->ends is set. Runs in the reader's thread,
 * after all parts have been read. */
void live__follow(struct source *);

#endif
