/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of outside origin, made fit for files and terminals. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Bytes at s (sz > 0 of them) that begin a character, at least 1; *whole when they are all of it.
 * The maximal part of Unicode 15, section 3.9, table 3-7: as Python's and the web's decoders cut.
 */
size_t utf8__character(const char *s, size_t sz, bool *whole);
/* A character of sz bytes that terminals obey: C0, DEL, C1. */
bool utf8__is_control(const char *s, size_t sz);

/* Bytes of s that are whole characters from its start on; sz when all are. */
size_t utf8__valid(const char *s, size_t sz);
/* Appends s, with U+FFFD for each part that is no character. */
void utf8__sanitize(struct buf *, const char *s, size_t sz);
/* The same with '?' for control characters: names come from processes that may be hostile. */
void utf8__sanitize_printable(struct buf *, const char *s, size_t sz);
/* The same of text in lines, whose ends stay. */
void utf8__sanitize_lines(struct buf *, const char *s, size_t sz);

/* Of valid text: characters, which terminals show as one column each, mostly. */
size_t utf8__cnt(const char *s, size_t sz);
/* Of valid text: bytes of the first cnt characters. */
size_t utf8__prefix(const char *s, size_t sz, size_t cnt);

#endif
