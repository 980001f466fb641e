/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that appears under its name only when it is complete, or the standard output. */
#ifndef STACKSEXPORT_OUTFILE_H
#define STACKSEXPORT_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Files PREFIX-N.SUFFIX of a folder. */
struct outfile_series {
	const char *prefix, *suffix; /* without the dash and the dot; outlive the files */
	const char *dir;	     /* NULL: ~/stacks_export_data, visible on purpose */
};

struct outfile {
	char *tmp;  /* write here; NULL once it is committed or discarded */
	char *path; /* where it goes, known after outfile__commit() when numbered; NULL: stdout */
	char *dir;  /* numbered: its folder; else NULL */
	const char *prefix, *suffix; /* numbered: of its series */
};

/*
 * `output`: a file, or "-" for stdout. NULL: the next one of the series, N one more than the
 * highest there is; its folder is made when missing. 0 or -errno; reports. outfile__free() in
 * either case.
 */
int outfile__open(struct outfile *, const char *output, const struct outfile_series *);

/* Gives the file its name, or copies it to stdout. 0 or -errno; reports. */
int outfile__commit(struct outfile *);
void outfile__free(struct outfile *); /* what is not committed vanishes */

/* Makes a folder with its parents, like mkdir -p. 0 or -errno; reports. */
int outfile__make_dirs(const char *dir);

struct outfile_piece {
	const void *data;
	size_t sz;
};

/* Writes a whole file, or to stdout for "-". 0 or -errno; reports. */
int outfile__write(const char *output, const struct outfile_piece *, size_t cnt);

#endif
