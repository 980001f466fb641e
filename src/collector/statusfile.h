/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the recording goes, as one JSON object in a file that others poll: replaced twice a second,
 * never seen half-written, gone when the collector has ended. docs/recording.md, "The status file",
 * has its members.
 */
#ifndef COLLECTOR_STATUSFILE_H
#define COLLECTOR_STATUSFILE_H

#include "collector/session.h"

#define STATUS_FILE "/run/collector/status"

struct statusfile;

/* Makes the file's folder where it is missing. NULL + errno; also for a NULL path: there is none.
 */
struct statusfile *statusfile__new(const char *path);
/* Removes the file. Accepts NULL. */
void statusfile__free(struct statusfile *);

/* Writes when half a second has passed; accepts NULL. */
void statusfile__tick(struct statusfile *, const struct session *, uint64_t now_ns);

#endif
