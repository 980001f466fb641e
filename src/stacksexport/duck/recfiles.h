/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the files of one or more recordings: pairs of events-N.parquet and stacktraces-N.parquet,
 * and processes-N.parquet, which older recordings lack; and the parts of fleet folders. */
#ifndef STACKSEXPORT_DUCK_RECFILES_H
#define STACKSEXPORT_DUCK_RECFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "stacksexport/duck/recfilepair.h"

struct recfiles {
	struct recfile_pair *pairs; /* sorted by the name of the first file, without doubles */
	size_t cnt;
	size_t left_out;
	bool has_parts; /* of fleet folders */
	bool grow;	/* a collector adds more; new rows may lie before old ones */
	char *label;	/* for messages: folders of recordings, or the arguments of -r */
};

/*
 * Finds the files of each -r: a recording, a folder of recordings (the one with the highest number
 * is used), a file (its pair lies beside it), a fleet folder or a part of its events
 * (fleetfiles.h), or a glob of these, which may match other files, too.
 * Without -r, uses the newest recording below $STACKS_DIR, else /var/lib/stacks. Checks the first
 * and last bytes of every file. Leaves out incomplete and broken batches with a warning, unless -r
 * names them. Returns 0, or -errno after logging what is missing or wrong, and where.
 */
int recfiles__find(struct recfiles *, const char *const *args, size_t cnt);
/* Leaves out the batch of this file, with a warning that gives the reason; texts need not end with
 * NUL. */
void recfiles__leave_out(struct recfiles *, const char *path, size_t path_sz, const char *why,
			 size_t why_sz);

/* Returns 0, or -EBADMSG after logging that no batch is left. */
int recfiles__check_left(const struct recfiles *);

/* Returns the folder of recordings: $STACKS_DIR, else /var/lib/stacks. */
const char *recfiles__root(void);

/* Returns true if a collector writes a recording into this folder. */
bool recfiles__is_written(const char *folder);

/* Returns batches from number `from` on, until their files of events have `sz` bytes together.
 * They are borrowed from `all`: do not free them. */
struct recfiles recfiles__part(const struct recfiles *all, size_t from, off_t sz);

void recfiles__free(struct recfiles *);

#endif
