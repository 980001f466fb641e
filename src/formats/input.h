/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file, pipe or fifo sequentially, in contiguous runs of bytes. A regular file is mapped.
 * Data from a pipe are read into buffers; only a run that crosses the end of a buffer is copied
 * again. Errors and the end of the input are sticky.
 */
#ifndef FORMATS_INPUT_H
#define FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_RUN_MAX (64u << 20) /* the most bytes that input__peek() returns */

struct input;

/*
 * Called when no data arrived for `every_ms` milliseconds (`idle`). Otherwise called between two
 * reads, at most once per `every_ms`. Returns false to end the input there.
 */
typedef bool (*input_tick_fn)(void *arg, bool idle);

struct input *input__new(int fd); /* borrows fd; NULL if out of memory */
void input__free(struct input *);
void input__set_tick(struct input *, unsigned every_ms, input_tick_fn, void *arg);

/* Returns at least sz bytes at the position, valid until the next call. Returns NULL if fewer are
 * left or on error. May block on the input. */
const uint8_t *input__peek(struct input *, size_t sz);
size_t input__left(const struct input *);      /* bytes available without reading */
void input__step(struct input *, size_t sz);   /* skips peeked bytes */
bool input__skip(struct input *, uint64_t sz); /* false if the input is shorter */

/*
 * Holds bytes peeked at or after that offset: they stay valid at their address. UINT64_MAX (the
 * default) holds nothing.
 */
void input__hold(struct input *, uint64_t off);
/*
 * Returns whether these held bytes are still part of the input. A file may be truncated while it is
 * read. input__check() detects that; the missing bytes were read as zeros.
 */
bool input__has(const struct input *, const uint8_t *, size_t sz);
void input__check(struct input *);

uint64_t input__off(const struct input *); /* offset of the position */
int input__err(const struct input *);	   /* 0 (also at the end) or -errno */
bool input__stopped(const struct input *); /* true if the tick ended the input */

/* Returns the size of a regular file, or 0 if the size is unknown. */
uint64_t input__sz(const struct input *);
/* Reads at an offset of a regular file without moving the position. Returns false if the bytes are
 * not available. */
bool input__read_at(struct input *, uint64_t off, void *to, size_t sz);

#endif
