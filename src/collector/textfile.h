/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text that other programs poll. The file is replaced atomically at intervals and removed at the
 * end. A thread of its own writes: the disk may take seconds, and rings fill in milliseconds.
 */
#ifndef COLLECTOR_TEXTFILE_H
#define COLLECTOR_TEXTFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct textfile_options {
	const char *what; /* for messages: "status file"; borrowed */
	const char *path;
	uint64_t every_ns;
	bool quiet; /* do not report that it cannot be written */
	/* NULL, or returns the process that writes the file, by its text; 0: none. A second
	 * collector then writes to the same name with ".PID" appended, and says so. */
	int (*writer)(FILE *);
};

/* Returns what `writer` says of the file at `path`; 0 if there is none. */
int textfile__writer(int (*writer)(FILE *), const char *path);

struct textfile;

/* Creates the file's folder if it is missing. Returns NULL + errno (already logged). */
struct textfile *textfile__new(const struct textfile_options *);
/* Removes the file. Accepts NULL. */
void textfile__free(struct textfile *);

/* Returns a stream for the next text if it is due, else NULL. `now_ns`: CLOCK_MONOTONIC. Accepts
 * NULL. */
FILE *textfile__begin(struct textfile *, uint64_t now_ns);
/* Closes the stream and has its text written. */
void textfile__end(struct textfile *, FILE *);

#endif
