/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds texts in a JSON document, which may be hostile. Does not check that it is valid. */
#ifndef BASE_JSONSCAN_H
#define BASE_JSONSCAN_H

#include <stdbool.h>
#include <stddef.h>

#define JSONSCAN_DEPTH_MAX 32

/* A part of the document, with escapes as they are. */
struct jsonscan_text {
	const char *at;
	size_t sz;
};

/* A text that is a value. `key` is that of the innermost object, `outer` that of the object around
 * it; both are empty without one. An element of an array has the key of the array. */
struct jsonscan_value {
	unsigned depth; /* of objects and arrays around it, from 1 on */
	struct jsonscan_text outer, key, value;
};

/* Calls back for each text until that returns true. Stops at an end in the middle, and at more than
 * JSONSCAN_DEPTH_MAX levels. */
typedef bool (*jsonscan_fn)(const struct jsonscan_value *, void *arg);
void jsonscan__each(const char *document, size_t sz, jsonscan_fn, void *arg);

bool jsonscan_text__is(const struct jsonscan_text *, const char *s);

#endif
