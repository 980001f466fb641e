/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A large recording is read in steps, each about eight times as large as the one before: the page
 * shows its first part within seconds, and more as it is read. A step reads the rows of the steps
 * before it again; these have at most half of the recording.
 */
#ifndef STACKSEXPORT_WEB_STEPS_H
#define STACKSEXPORT_WEB_STEPS_H

#include "stacksexport/web/source.h"

/* Lets the source read only the first step, if the recording is large. Not if its rows are not in
 * the order of time, or if a part of it is selected: what is wanted may be anywhere then. */
void steps__begin(struct source *);

/* Reads the further steps. Runs in the reader's thread, after all parts have been read. If a step
 * fails, the page says so, and shows what it has. */
void steps__read_rest(struct source *);

#endif
