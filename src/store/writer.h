/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that sorts, encodes, compresses and writes what the collector's thread collected. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdbool.h>

#include "store/batch.h"
#include "store/folder.h"
#include "store/parquet.h"
#include "store/strings.h"

enum { STACKS_FIRST, STACKS_REPEATED, STACKS_CNT };

/* A piece of a batch, handed over with everything in it. */
struct part {
	struct part *next;
	/* A row group each, or NULL. Readers skip those of repeated stacks. */
	struct batch *events, *stacks[STACKS_CNT];
	struct strings strings; /* new since the part before */
	struct strtab *last;	/* not NULL: the batch ends here, and these were its strings */
};

void part__free(struct part *);

struct writer;

/* The folder is borrowed. NULL + errno. */
struct writer *writer__new(struct folder *, const struct parquet_options *);
/* Never blocks; the part is the writer's from now on, also when it has failed. */
void writer__push(struct writer *, struct part *);
/* Blocks until fewer than `max` parts wait, or the writer has failed. 0 or its -errno, which was
 * said on stderr. Cheap when there is nothing to wait for. */
int writer__wait(struct writer *, size_t max);
/* Writes what was pushed and stops. A batch without its last part is thrown away. NULL is fine. */
int writer__stop(struct writer *);
void writer__free(struct writer *); /* stops it first */

struct writer_stats {
	uint64_t rows, batches; /* of events, finished; and what they are in */
	uint64_t bytes;		/* written so far, and not thrown away */
};
void writer__stats(const struct writer *, struct writer_stats *);

#endif
