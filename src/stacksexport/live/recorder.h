/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector that `stacksexport live` starts, and the folder into which it records. */
#ifndef STACKSEXPORT_LIVE_RECORDER_H
#define STACKSEXPORT_LIVE_RECORDER_H

#include <stdbool.h>
#include <sys/types.h>

struct recorder {
	char folder[64]; /* is removed at the end */
	char recording[80], log[80];
	pid_t pid; /* 0: none runs */
};

/* Starts the collector beside this program, else that in PATH. `sources`: its -p, where
 * live_sources__with_stacks() adds stacks; NULL: CPU samples and switches. Returns 0 or -errno
 * (reported). */
int recorder__start(struct recorder *, const char *sources);

/* Returns true if it has ended by itself. */
bool recorder__has_ended(struct recorder *);

/* Prints the last lines of what it said to stderr. */
void recorder__print_log(const struct recorder *);

/* Ends it, and removes the folder. */
void recorder__stop(struct recorder *);

#endif
