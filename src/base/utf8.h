/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes external text fit for files and terminals. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Returns the bytes at s (sz > 0) that begin a character, at least 1; sets *whole if they are a
 * whole character. Uses the maximal subpart of Unicode 15, section 3.9, table 3-7, like the
 * decoders of Python and the web.
 */
size_t utf8__character(const char *s, size_t sz, bool *whole);
/* Returns whether the character is a control character of terminals: C0, DEL, C1. */
bool utf8__is_control(const char *s, size_t sz);

/* Returns the number of leading bytes that are whole characters; sz if all are. */
size_t utf8__valid(const char *s, size_t sz);
/* Appends s, with U+FFFD for each invalid part. */
void utf8__sanitize(struct buf *, const char *s, size_t sz);
/* Like utf8__sanitize(), with '?' for control characters: names come from hostile processes. */
void utf8__sanitize_printable(struct buf *, const char *s, size_t sz);
/* Like utf8__sanitize_printable(), for text in lines: keeps line ends. */
void utf8__sanitize_lines(struct buf *, const char *s, size_t sz);

/* Returns the number of characters of valid text; terminals mostly show each in one column. */
size_t utf8__cnt(const char *s, size_t sz);
/* Returns the bytes of the first cnt characters of valid text. */
size_t utf8__prefix(const char *s, size_t sz, size_t cnt);

#endif
