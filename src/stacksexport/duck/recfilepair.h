/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that are read together. */
#ifndef STACKSEXPORT_DUCK_RECFILEPAIR_H
#define STACKSEXPORT_DUCK_RECFILEPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The files of a batch; or one part of a fleet folder: the other two are NULL. */
struct recfile_pair {
	char *events, *stacktraces;
	char *processes; /* NULL: the batch has none */
};

#define RECFILES_OF_PAIR 3

/* Fills `paths` with those of a pair and returns how many there are. */
size_t recfile_pair__paths(const struct recfile_pair *, const char *paths[RECFILES_OF_PAIR]);

/* Returns the size of all files, in bytes; a file that is gone has none. */
off_t recfile_pair__sz(const struct recfile_pair *);

/* Returns whether a file is gone: the collector removes old batches while it records (--keep). */
bool recfile_pair__is_removed(const struct recfile_pair *);

#endif
