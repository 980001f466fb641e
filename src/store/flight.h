/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finished batches that are kept in memory instead of on the disk, for --flight: the newest ones,
 * limited by age and by size. After a trigger they are written, and for the same time later
 * batches go to the disk directly. Except for flight__stats(), only the writer thread uses it.
 */
#ifndef STORE_FLIGHT_H
#define STORE_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/folder.h"

struct flight_options {
	uint64_t keep_ns; /* age of the oldest batch, and how long is written after a trigger */
	size_t max_sz;	  /* bytes of all batches */
};

struct flight;

/* Returns NULL if out of memory. */
struct flight *flight__new(const struct flight_options *);
/* Drops the batches that were not written. Accepts NULL. */
void flight__free(struct flight *);

/* Returns true if a batch that begins now goes to memory. False for NULL. Times: CLOCK_MONOTONIC.
 */
bool flight__is_armed(const struct flight *, uint64_t now_ns);
/* Returns the descriptor of a new file in memory, or -errno. */
int flight__create(enum folder_file);

/* A finished batch. */
struct flight_batch {
	int fds[FOLDER_FILE_CNT];
	uint64_t sz, rows, end_ns;
	struct flight_batch *next;
};
/* Takes ownership of the batch's files, and drops the batches above the limits. Returns 0 or
 * -ENOMEM, then the files are closed. */
int flight__keep(struct flight *, const struct flight_batch *);

/* Call it after a trigger. Later batches go to the disk for the time `keep_ns`. */
void flight__trigger(struct flight *, uint64_t now_ns);
/* Returns the oldest batch in memory that is not too old, or NULL. */
const struct flight_batch *flight__oldest(struct flight *, uint64_t now_ns);
/* Writes the oldest batch under the folder's next number, and drops it. Returns 0, or -errno with
 * the batch kept and no file left behind. */
int flight__write_oldest(struct flight *, struct folder *);

struct flight_stats {
	size_t sz, batches; /* in memory */
	uint64_t crowded;   /* batches that were dropped although they were not too old */
	uint64_t triggers;
	bool writing; /* after a trigger */
	bool is_on;
};
/* May be called by any thread. Accepts NULL. */
void flight__stats(const struct flight *, struct flight_stats *);

#endif
