/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's view of a batch's strings: id → bytes. The collector's thread continues to intern
 * into the batch's strtab, so each hand-over passes only the addresses of new strings, which the
 * strtab does not move.
 */
#ifndef STORE_STRINGS_H
#define STORE_STRINGS_H

#include <stddef.h>

#include "base/strtab.h"

/* Maximum size of a string or binary value in bytes; longer ones are cut when they are interned.
 * With RECORDING_FRAMES_MAX it keeps a page below 2 GiB even if it is one stack of the longest
 * names. */
#define STRING_MAX 65535

struct string {
	const char *data;
	size_t sz;
};

struct strings {
	struct string *v; /* owned; the strtab owns the bytes */
	size_t cnt;
};

/* Takes the strings of `tab` from id `from` on. Returns 0 or -ENOMEM. */
int strings__take(struct strings *, const struct strtab *tab, size_t from);
/* Appends the strings of `from`. Returns 0 or -ENOMEM. */
int strings__append(struct strings *, const struct strings *from);
void strings__free(struct strings *); /* leaves it empty */

#endif
