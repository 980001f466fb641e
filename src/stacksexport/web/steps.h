/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A large recording is read in steps, each at least eight times as much as the one before: the page
 * shows its begin within seconds, and more as it is read. Less than a third of the rows are read
 * more than once.
 */
#ifndef STACKSEXPORT_WEB_STEPS_H
#define STACKSEXPORT_WEB_STEPS_H

#include "stacksexport/web/source.h"

/* Lets the source read the first step only, if the recording is large, and in the order of time:
 * otherwise its begin may be anywhere. Returns 0 or -errno (already logged). */
int steps__begin(struct source *);

/* Reads the further steps. Runs in the reader's thread, after all parts have been read. If a step
 * fails, the page says so, and shows what it has. */
void steps__read_rest(struct source *);

#endif
