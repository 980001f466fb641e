/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writer knows of a batch's strings: id → bytes. The collector's thread goes on interning
 * into the batch's strtab meanwhile, so each hand-over carries only the new strings' addresses,
 * which the strtab does not move.
 */
#ifndef STORE_STRINGS_H
#define STORE_STRINGS_H

#include <stddef.h>

#include "base/strtab.h"

/* Longest value of a string or binary column in bytes; longer ones are cut when they are interned.
 * With RECORDING_FRAMES_MAX it keeps a page below 2 GiB even when it is one stack of the longest
 * names. */
#define STRING_MAX 65535

struct string {
	const char *data;
	size_t sz;
};

struct strings {
	struct string *v; /* owned; the bytes are the strtab's */
	size_t cnt;
};

/* The strings of `tab` from id `from` on. 0 or -ENOMEM. */
int strings__take(struct strings *, const struct strtab *tab, size_t from);
/* Appends what `from` has. 0 or -ENOMEM. */
int strings__append(struct strings *, const struct strings *from);
void strings__free(struct strings *); /* leaves it empty */

#endif
