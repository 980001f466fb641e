/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the folder web/, which the program contains (tools/embed). */
#ifndef STACKSEXPORT_WEB_ASSETS_H
#define STACKSEXPORT_WEB_ASSETS_H

#include <stddef.h>

struct asset {
	const char *name; /* below web/: "vendor/uplot.js" */
	const unsigned char *data, *end;
};

/* Ends with a row without a name. */
extern const struct asset assets[];

/* Returns NULL if there is no such file. */
const struct asset *asset__find(const char *name);

/* Returns the type of a file by its name, for the header Content-Type. */
const char *asset__type(const struct asset *);

#endif
