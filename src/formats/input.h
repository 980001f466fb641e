/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file, pipe or fifo from its beginning to its end, in runs of bytes that lie together. A
 * regular file is mapped; what comes through a pipe is read into buffers, and copied once more only
 * where a run goes over the end of one. Errors stick, as does the end.
 */
#ifndef FORMATS_INPUT_H
#define FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_RUN_MAX (64u << 20) /* bytes that can be asked for in one piece */

struct input;

/*
 * Called before reading waits for more (idle: nothing came for `every_ms`), and otherwise between
 * two readings at most that often. Returns false to end the input there.
 */
typedef bool (*input_tick_fn)(void *arg, bool idle);

struct input *input__new(int fd); /* borrowed. NULL + errno */
void input__free(struct input *);
void input__set_tick(struct input *, unsigned every_ms, input_tick_fn, void *arg);

/* At least sz bytes at the position, until the next call. NULL: there are fewer, or an error. */
const uint8_t *input__peek(struct input *, size_t sz);
size_t input__left(const struct input *);      /* bytes that peek would give without reading */
void input__step(struct input *, size_t sz);   /* over what was peeked */
bool input__skip(struct input *, uint64_t sz); /* false: the input is shorter */

/*
 * From now on what was peeked at that offset and behind it stays where it is; UINT64_MAX, as in the
 * beginning: nothing does.
 */
void input__hold(struct input *, uint64_t off);
/*
 * Whether these bytes, which are held, are still the input's. A file may be cut short while it is
 * read, which input__check() finds out: then what is missing has been read as zeros.
 */
bool input__has(const struct input *, const uint8_t *, size_t sz);
void input__check(struct input *);

uint64_t input__off(const struct input *); /* of the position */
int input__err(const struct input *);	   /* -errno of read(2), 0 at the end */
bool input__stopped(const struct input *); /* the tick ended it */

/* A regular file's size; 0 for what has no end that is known. */
uint64_t input__sz(const struct input *);
/* Reads at an offset, where the input is a regular file; the position stays. */
bool input__read_at(struct input *, uint64_t off, void *to, size_t sz);

#endif
