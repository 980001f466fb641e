/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of one or more recordings: pairs of events-N.parquet and stacktraces-N.parquet. */
#ifndef STACKSEXPORT_DUCK_RECFILES_H
#define STACKSEXPORT_DUCK_RECFILES_H

#include <stdbool.h>
#include <stddef.h>

struct recfile_pair {
	char *events, *stacktraces;
};

struct recfiles {
	struct recfile_pair *pairs; /* by name of the events, each once */
	size_t cnt;
	size_t left_out;
	bool grow;   /* a collector adds more; new rows may lie before old ones */
	char *label; /* what was opened, for people: folders of recordings, or what -r says */
};

/*
 * Finds what each -r means: a recording, a folder of recordings (the one with the highest number),
 * a file (its pair lies beside it), or a glob of these, which may have others beside them. None:
 * the newest below $STACKS_DIR, else /var/lib/stacks. Every file found is Parquet from its first to
 * its last bytes: batches of which a file is missing or is not are left out, with a warning, unless
 * they are what -r names. 0, or -errno after saying on stderr what is missing or wrong, and where.
 */
int recfiles__find(struct recfiles *, const char *const *args, size_t cnt);
/* Takes the batch out that has the file, with a warning that says why; texts need not end with NUL.
 */
void recfiles__leave_out(struct recfiles *, const char *path, size_t path_sz, const char *why,
			 size_t why_sz);

/* 0, or -EBADMSG after saying that no batch is left. */
int recfiles__check_left(const struct recfiles *);

/* Whether a collector writes a recording into this folder. */
bool recfiles__is_written(const char *folder);

void recfiles__free(struct recfiles *);

#endif
