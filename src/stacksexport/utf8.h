/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of outside origin, made fit for files and terminals. */
#ifndef STACKSEXPORT_UTF8_H
#define STACKSEXPORT_UTF8_H

#include <stddef.h>
#include "base/buf.h"

/* Appends `s`; each byte that is not part of well-formed UTF-8 becomes U+FFFD. */
void utf8__append(struct buf *, const char *s, size_t sz);

/* As above, with control characters as '?' too: names come from processes that may be hostile. */
void utf8__append_printable(struct buf *, const char *s, size_t sz);

/* Code points of well-formed text; what terminals show as one column each, mostly. */
size_t utf8__cnt(const char *s, size_t sz);

/* Bytes of the first `cnt` code points. */
size_t utf8__prefix(const char *s, size_t sz, size_t cnt);

#endif
