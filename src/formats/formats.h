/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats, and their readers and writers. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "formats/stream.h"

/* Returns the format by the first bytes of the input, or FORMAT_UNKNOWN. */
enum format format__detect(struct input *);
const char *format__name(enum format);
enum format format__by_name(const char *); /* FORMAT_UNKNOWN if there is none */

/* Reads the header; check reader->fault. Returns NULL with errno set if out of memory. */
struct stream_reader *stream_reader__new(enum format, struct input *);

/* Returns NULL and sets errno on failure. */
struct stream_writer *stream_writer__new(const struct stream_writer_options *);

#endif
