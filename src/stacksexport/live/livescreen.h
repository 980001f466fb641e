/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of `stacksexport live`: draws what was read, and takes keys. */
#ifndef STACKSEXPORT_LIVE_LIVESCREEN_H
#define STACKSEXPORT_LIVE_LIVESCREEN_H

#include "stacksexport/live/livedata.h"

#define LIVE_FILTER_MAX 64

/* What the user has chosen. */
struct live_screen {
	struct live_request request;
	char filter[LIVE_FILTER_MAX]; /* of lines; "": all */
	bool typing;		      /* the filter */
	bool paused, ended;
	size_t first;	    /* line of the table that is on top */
	const char *status; /* "recording", or what is wrong */
};

/* Takes over the terminal. Returns false if it cannot show a full screen. */
bool live_screen__open(struct live_screen *);
void live_screen__close(void);

/* Draws everything; d->text NULL: nothing was read yet. */
void live_screen__draw(struct live_screen *, const struct live_data *);

/* Waits up to a tenth of a second for a key, and does what it asks for. Returns true if there was
 * one. Sets *stale if other data have to be read for it. */
bool live_screen__key(struct live_screen *, bool *stale);

#endif
