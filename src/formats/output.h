/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a file, pipe or fifo. Errors stick: after the first nothing more is written. */
#ifndef FORMATS_OUTPUT_H
#define FORMATS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_RUN_MAX (256u << 10)

struct output;

struct output *output__new(int fd); /* borrowed. NULL + errno */
void output__free(struct output *); /* does not flush */

void output__write(struct output *, const void *data, size_t sz);
/* Room for sz bytes, at most OUTPUT_RUN_MAX, which the caller fills. */
uint8_t *output__extend(struct output *, size_t sz);
void output__u32(struct output *, uint32_t); /* little-endian, as the next */
void output__u64(struct output *, uint64_t);
void output__zeros(struct output *, size_t sz);
void output__flush(struct output *);

uint64_t output__off(const struct output *); /* bytes so far */
/* Whether what was written can be changed: a regular file that we write from its beginning. */
bool output__can_patch(const struct output *);
void output__patch(struct output *, uint64_t off, const void *data, size_t sz);
int output__err(const struct output *); /* -errno */

#endif
