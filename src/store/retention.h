/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the age and the size of a recording that goes on, by removing its oldest batches. */
#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include <stdint.h>

struct retention {
	uint64_t age_ns;  /* since a batch was written; 0: no limit */
	uint64_t sz;	  /* bytes of all batches; 0: no limit */
	uint32_t percent; /* the same, of the file system's size; 0: no limit */
};

struct folder;

/*
 * Removes the oldest batches, all files of each, until the rest is within the limits and the file
 * system has room for two batches of the largest size. Keeps the newest
 * batch. Does nothing without a limit. A batch that cannot be removed is reported once, and ends
 * this call. Returns the number of batches removed.
 */
uint64_t retention__apply(const struct retention *, const struct folder *);

#endif
