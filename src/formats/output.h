/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a file, pipe or fifo. Errors are sticky: after the first error nothing more is written. */
#ifndef FORMATS_OUTPUT_H
#define FORMATS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_RUN_MAX (256u << 10)

struct output;

struct output *output__new(int fd); /* borrows fd; NULL if out of memory */
void output__free(struct output *); /* does not flush */

void output__write(struct output *, const void *data, size_t sz);
/* Returns room for sz bytes, at most OUTPUT_RUN_MAX. The caller must fill it. */
uint8_t *output__extend(struct output *, size_t sz);
void output__u32(struct output *, uint32_t); /* little-endian, like output__u64() */
void output__u64(struct output *, uint64_t);
void output__zeros(struct output *, size_t sz);
void output__flush(struct output *);

uint64_t output__off(const struct output *); /* bytes written so far */
/* Returns whether written bytes can be changed: for a regular file written from its start. */
bool output__can_patch(const struct output *);
void output__patch(struct output *, uint64_t off, const void *data, size_t sz);
int output__err(const struct output *); /* 0 or -errno */

#endif
