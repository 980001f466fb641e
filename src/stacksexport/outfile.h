/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that appears under its name only when it is complete, or the standard output. */
#ifndef STACKSEXPORT_OUTFILE_H
#define STACKSEXPORT_OUTFILE_H

#include <stdbool.h>

struct outfile {
	char *tmp;  /* write here; NULL once it is committed or discarded */
	char *path; /* where it goes, known after outfile__commit() when numbered; NULL: stdout */
	char *dir;  /* numbered: its folder; else NULL */
};

/*
 * `output`: a file, or "-" for stdout. NULL: pprof-N.pb.gz in `dir`, which is made when missing, N
 * one more than the highest there is. 0 or -errno; reports. outfile__free() in either case.
 */
int outfile__open(struct outfile *, const char *output, const char *dir);

/* Gives the file its name, or copies it to stdout. 0 or -errno; reports. */
int outfile__commit(struct outfile *);
void outfile__free(struct outfile *); /* what is not committed vanishes */

#endif
