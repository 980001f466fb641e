/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options in a text: one `option = value`, or one option without a value, in each line. The names
 * are the long names of a table of options. Blank lines, and lines that begin with '#', are
 * ignored. Values are not quoted: they reach to the end of the line, without the blanks around
 * them.
 */
#ifndef COLLECTOR_CONFIGFILE_H
#define COLLECTOR_CONFIGFILE_H

#include <argp.h>
#include <stdbool.h>

struct config_text {
	const char *name; /* of the file, for messages; borrowed */
	char *rest;	  /* borrowed; cut into pieces */
	unsigned line;	  /* of the option below, from 1 on */
	const char *option;
	char *value; /* NULL: there is none; may be empty */
};

/* Returns the text of a file, or NULL and sets errno: EFBIG above 64 KB, EINVAL if it is no text.
 * Free it with free(). */
char *config_file__read(const char *path);
/* Moves to the next option. Returns false at the end. */
bool config_text__next(struct config_text *);
/* Returns the option's row in the table, or NULL and sets *why: it is unknown, lacks its value, or
 * takes none. */
const struct argp_option *config_text__find(const struct config_text *, const struct argp_option *,
					    const char **why);

#endif
