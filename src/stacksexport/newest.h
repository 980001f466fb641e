/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which recording is shown if the user names none. */
#ifndef STACKSEXPORT_NEWEST_H
#define STACKSEXPORT_NEWEST_H

#include <time.h>

#include "stacksexport/duck/recfiles.h"

#define NEWEST_AGE_SZ 32

/* Writes how long ago it was: "12 s ago", "5 min ago", "3 h ago", "9 days ago". A time in the
 * future was 0 s ago. */
void newest__age(time_t then, time_t now, char age[NEWEST_AGE_SZ]);

/* Reports on stderr which recording it is and when its last batch was written: the latest recording
 * may have failed, and then this is one before it. */
void newest__report(const struct recfiles *);

#endif
