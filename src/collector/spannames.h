/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The full names of spans. An event has the first 16 bytes of its span's name; the begin of a span
 * that the user chose has a longer text. This table keeps the texts of the last spans.
 */
#ifndef COLLECTOR_SPANNAMES_H
#define COLLECTOR_SPANNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"

#define SPAN_NAME_SZ  (EVENT_ARG_CNT * EVENT_ARG_TEXT_SZ)
#define SPAN_NAME_MAX 16384 /* spans; 4 MB */

struct span_names;

/* Returns NULL if out of memory. */
struct span_names *span_names__new(void);
void span_names__free(struct span_names *); /* accepts NULL */

/* Remembers the text of this span, and forgets the oldest one if there are too many. Does nothing
 * if out of memory. */
void span_names__add(struct span_names *, uint64_t span_id, const char *text);
/* Returns the text, which is valid until the next add, or NULL. Accepts NULL. */
const char *span_names__find(const struct span_names *, uint64_t span_id);

#endif
