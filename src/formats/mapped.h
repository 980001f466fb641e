/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A mapped regular file. Nothing is copied, and only the pages accessed are read. If another
 * program truncates the file, the missing bytes read as zeros. Only one may be open at a time.
 * Private to src/formats.
 */
#ifndef FORMATS_MAPPED_H
#define FORMATS_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

struct mapped {
	int fd;
	const uint8_t *bytes; /* NULL if not mapped */
	uint64_t sz, map_sz;  /* present size; size when it was mapped */
	uint64_t let_go;      /* bytes at the start with released pages */
};

bool mapped__open(struct mapped *, int fd, uint64_t sz); /* false if it cannot be mapped */
void mapped__close(struct mapped *);

/* Lowers sz if the file was truncated. All bytes below sz were read correctly. */
void mapped__check(struct mapped *);
/* Releases the memory of the bytes before the offset. They may be read again. */
void mapped__let_go(struct mapped *, uint64_t off);

#endif
