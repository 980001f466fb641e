/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A regular file's bytes, mapped: nothing is copied, and only what is looked at is touched. Who
 * cuts the file short meanwhile does no harm: what is missing reads as zeros. One at a time.
 * Private to src/formats.
 */
#ifndef FORMATS_MAPPED_H
#define FORMATS_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

struct mapped {
	int fd;
	const uint8_t *bytes; /* NULL: not mapped */
	uint64_t sz, map_sz;  /* what is there still; what was there when it was mapped */
	uint64_t let_go;      /* bytes from the beginning that take no memory any more */
};

bool mapped__open(struct mapped *, int fd, uint64_t sz); /* false: it cannot be mapped */
void mapped__close(struct mapped *);

/* What is missing by now: brings sz up to date. Bytes below it were read as they are. */
void mapped__check(struct mapped *);
/* Bytes before the offset take no memory from now on. They may be read again. */
void mapped__let_go(struct mapped *, uint64_t off);

#endif
