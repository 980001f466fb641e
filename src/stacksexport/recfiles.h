/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of one or more recordings: pairs of events-N.parquet and stacktraces-N.parquet. */
#ifndef STACKSEXPORT_RECFILES_H
#define STACKSEXPORT_RECFILES_H

#include <stddef.h>

struct recfile_pair {
	char *events, *stacktraces;
};

struct recfiles {
	struct recfile_pair *pairs; /* by name of the events, each once */
	size_t cnt;
	char *label; /* what was opened, for people: the recording's folder, or what -r says */
};

/*
 * Finds what -r means: a recording, a folder of recordings (the one with the highest number), a
 * file (its pair lies beside it), or a glob of these. NULL: the newest below $STACKS_DIR, else
 * /var/lib/stacks. Every file found is Parquet from its first to its last bytes. 0, or -errno after
 * saying on stderr what is missing or wrong, and where.
 */
int recfiles__find(struct recfiles *, const char *arg);
void recfiles__free(struct recfiles *);

#endif
