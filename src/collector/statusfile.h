/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The progress of the recording as one JSON object in a file that other programs poll. The file is
 * replaced atomically twice a second and removed at the end. docs/recording.md, "The status file",
 * lists its members.
 */
#ifndef COLLECTOR_STATUSFILE_H
#define COLLECTOR_STATUSFILE_H

#include "collector/memory.h"
#include "collector/session.h"
#include "store/recording.h"

/* Returns the process that writes the file; 0 if there is none. */
int statusfile__pid(const char *path);

struct statusfile_sources { /* borrowed */
	const struct session *session;
	const struct memory *memory;
	const struct recording *recording;
};

struct statusfile;

/* Creates the file's folder if it is missing. Returns NULL + errno. A NULL path means no status
 * file and returns NULL, too. */
struct statusfile *statusfile__new(const char *path, const struct statusfile_sources *);
/* Removes the file. Accepts NULL. */
void statusfile__free(struct statusfile *);

/* Replaces the file if half a second has passed. Accepts NULL. */
void statusfile__tick(struct statusfile *, uint64_t now_ns);

#endif
