/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that sorts, encodes, compresses and writes the collected rows. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdbool.h>

#include "store/batch.h"
#include "store/flight.h"
#include "store/folder.h"
#include "store/parquet.h"
#include "store/retention.h"
#include "store/strings.h"

enum { STACKS_FIRST, STACKS_REPEATED, STACKS_CNT };

/* A piece of a batch, handed over with everything in it. */
struct part {
	struct part *next;
	/* A row group each, or NULL. Readers skip those of repeated stacks. */
	struct batch *events, *processes, *stacks[STACKS_CNT];
	struct strings strings; /* new since the part before */
	struct strtab *last;	/* not NULL: the batch ends here, and these were its strings */
	size_t sz;		/* bytes of its rows and strings */
	bool trigger;		/* of the flight recorder; the batch ends here, too */
};

void part__free(struct part *);

struct writer;

/* Borrows the folder and `flight`, which keeps batches until a trigger; NULL: all are written.
 * Returns NULL and sets errno. */
struct writer *writer__new(struct folder *, struct flight *, const struct parquet_options *);
/* Never blocks. Takes ownership of the part, also after a failure. */
void writer__push(struct writer *, struct part *);
/* The limits of what is kept in the folder apply from the next part on. Without a call there are
 * none. */
void writer__set_keep(struct writer *, const struct retention *);
/* Blocks until fewer than `max` parts wait, or the writer has failed. Returns 0 or its -errno,
 * which was logged. Cheap if there is nothing to wait for. */
int writer__wait(struct writer *, size_t max);
/* Writes all parts and stops. Drops a batch without its last part. Accepts NULL. */
int writer__stop(struct writer *);
void writer__free(struct writer *); /* stops it first */

struct writer_stats {
	uint64_t rows, batches; /* of events in complete batches; their number */
	uint64_t bytes;		/* written so far, without dropped batches */
	size_t waiting_sz;	/* bytes of parts that are not yet written */
	uint64_t removed;	/* batches that were older or more than --keep allows */
};
void writer__stats(const struct writer *, struct writer_stats *);

#endif
