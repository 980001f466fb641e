/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, which may have written anything there. Reads are bounded in number
 * and size, errors stick: a read that fails gives zeros, so that readers chain reads and check
 * once. A read may block (userfaultfd, a FUSE server): only jobs do it.
 */
#ifndef RUNTIME_REMOTE_H
#define RUNTIME_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote {
	int mem;     /* /proc/PID/mem, or a file with the same contents */
	size_t left; /* bytes that may still be read */
	bool err;
	uint64_t base; /* start of the runtime's file, if the layout needs it */
};

/* Returns false, with zeros in `to`, if not all of it could be read. */
bool remote__read(struct remote *, uint64_t addr, void *to, size_t sz);
uint8_t remote__u8(struct remote *, uint64_t addr);
uint32_t remote__u32(struct remote *, uint64_t addr);
uint64_t remote__u64(struct remote *, uint64_t addr);
/* Returns true if the text at addr, with its NUL, is `text` (at most 63 bytes). */
bool remote__is_text(struct remote *, uint64_t addr, const char *text);

/* Reads a text of at most sz - 1 bytes, cut if it is longer, with a NUL. */
void remote__text(struct remote *, uint64_t addr, char *text, size_t sz);

#endif
