/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: a folder of batches, each of three Parquet files. One thread adds rows and another
 * writes them: recording__add() only copies.
 */
#ifndef STORE_RECORDING_H
#define STORE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "store/flight.h"
#include "store/retention.h"
#include "store/row.h"

struct recording_options {
	const char *dir;	      /* the recording itself; NULL: the next number under root */
	const char *root;	      /* $STACKS_DIR, else /var/lib/stacks */
	bool append;		      /* dir may have a recording already: continue its numbers */
	struct retention keep;	      /* limits of what is kept; all 0: none */
	struct flight_options flight; /* .keep_ns 0: all batches are written */
	bool force;		      /* accept a folder that another user owns or may write to */
	uid_t owner_uid;	      /* owner of folders (0750) and files (0640) */
	gid_t owner_gid;
	size_t rows_per_group;	 /* 100000 */
	size_t groups_per_file;	 /* 10 */
	uint64_t batch_ns;	 /* maximum age of a batch: 10 s */
	const char *compression; /* "zstd(1)" … "zstd(22)", "none" */
	const char *sources;	 /* "profile,switch": the recorded sources; borrowed. NULL: "" */
};

struct recording;

/* Creates the folder. Returns NULL and sets errno, after a message on stderr. */
struct recording *recording__new(const struct recording_options *);
const char *recording__dir(const struct recording *);

/*
 * Returns the id of a string in the current batch, valid until recording__generation() changes. For
 * columns of type string, invalid UTF-8 becomes U+FFFD. `buildid` is binary: recording__bytes().
 */
uint32_t recording__string(struct recording *, const char *s, size_t sz);
uint32_t recording__bytes(struct recording *, const void *b, size_t sz);
/* Starts at 1 and grows by one with each batch. */
uint32_t recording__generation(const struct recording *);

#define RECORDING_FRAMES_MAX 16384 /* frames per stack; more give -E2BIG */

/*
 * The stacks of the current batch. A stack may be reserved, so that rows can refer to it, and added
 * later, but before the batch closes. A stack must be added only once. Return 0 or -errno.
 */
bool recording__has_stack(const struct recording *, uint64_t stack_id); /* added or reserved */
int recording__reserve_stack(struct recording *, uint64_t stack_id);
int recording__add_stack(struct recording *, uint64_t stack_id, const struct row_frame *,
			 size_t cnt);

/*
 * Appends the frames of a stack in the current batch (struct row_frame, with ids of this batch).
 * Returns their number, or -ENOENT if the batch does not have the stack, or has passed its row
 * group to the writer.
 */
ssize_t recording__stack(const struct recording *, uint64_t stack_id, struct buf *frames);
const char *recording__str(const struct recording *, uint32_t id, size_t *sz);

/* Returns true if the batch has no row of an event yet. */
bool recording__is_empty(const struct recording *);
/* Returns true if recording__tick() at now_ns would close the batch. */
bool recording__due(const struct recording *, uint64_t now_ns);

/* Ends the batch at the next recording__tick(). With a flight recorder, this is the trigger: what
 * it has kept is written, and what follows for the same time. */
void recording__trigger(struct recording *);

/* Changes the limits of what is kept. */
void recording__set_keep(struct recording *, const struct retention *);

/* Copies the row. Does not close the batch: generations change only in recording__tick(). Returns 0
 * or -errno. */
int recording__add(struct recording *, const struct row *);

/* Adds a process to the batch. Returns 0 or -ENOMEM. */
int recording__add_process(struct recording *, const struct process_row *);

/*
 * Call it often, between rows: passes full row groups to the writer thread, and closes the batch if
 * it is full or old. `now_ns` is CLOCK_MONOTONIC. Returns 0, or the writer's -errno after it has
 * failed (ENOSPC …; logged once, with the file): the caller must stop; written batches stay.
 */
int recording__tick(struct recording *, uint64_t now_ns);

/* Call it before recording__finish(), which then does not write the current batch. */
void recording__drop_batch(struct recording *);
/* Closes the last batch and waits for the writer. Returns 0 or -errno. Removes a numbered folder
 * that is empty. */
int recording__finish(struct recording *);
/* Returns whether it was removed. */
bool recording__removed(const struct recording *);
void recording__free(struct recording *);

struct recording_stats {
	uint64_t rows, bytes,
		/* Sums over complete batches; bytes also include the current batch. */
		batches;
	uint64_t removed_batches; /* by the limits of `keep` */
	uint64_t added;		  /* rows, also those of incomplete batches */
	size_t batch_sz; /* bytes in memory: the batch in work, and parts that wait for the writer
			  */
	struct flight_stats flight;
};
void recording__stats(const struct recording *, struct recording_stats *);

#endif
