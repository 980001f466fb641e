/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that are read together. */
#ifndef STACKSEXPORT_DUCK_RECFILEPAIR_H
#define STACKSEXPORT_DUCK_RECFILEPAIR_H

/* The files of a batch; or one part of a fleet folder: the other two are NULL. */
struct recfile_pair {
	char *events, *stacktraces;
	char *processes; /* NULL: the batch has none */
};

#define RECFILES_OF_PAIR 3

#endif
