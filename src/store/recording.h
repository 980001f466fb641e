/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: a folder of batches, each a pair of Parquet files. Rows are added by one thread and
 * written by another: recording__add() only copies.
 */
#ifndef STORE_RECORDING_H
#define STORE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "store/row.h"

struct recording_options {
	const char *dir;  /* the recording itself; NULL: N = highest + 1 under root */
	const char *root; /* $STACKS_DIR, else /var/lib/stacks */
	bool append;	  /* dir may hold a recording already: go on with its numbers */
	bool force;	  /* take a folder that another user owns or may write to */
	uid_t owner_uid;  /* who gets folders (0750) and files (0640) */
	gid_t owner_gid;
	size_t rows_per_group;	 /* 100000 */
	size_t groups_per_file;	 /* 10 */
	uint64_t batch_ns;	 /* a batch is at most this old when it is closed: 10 s */
	const char *compression; /* "zstd(1)" … "zstd(22)", "none" */
	const char *sources;	 /* "profile,switch": what is recorded; borrowed. NULL: "" */
};

struct recording;

/* Makes the folder. NULL + errno, after saying on stderr what could not be made. */
struct recording *recording__new(const struct recording_options *);
const char *recording__dir(const struct recording *);

/*
 * The id of a string in the batch being made: stable until recording__generation() changes. Bytes
 * are made valid UTF-8 where the column is a string (U+FFFD); `buildid` is binary:
 * recording__bytes().
 */
uint32_t recording__string(struct recording *, const char *s, size_t sz);
uint32_t recording__bytes(struct recording *, const void *b, size_t sz);
uint32_t recording__generation(
	const struct recording *); /* grows by one with each batch, starts at 1 */

#define RECORDING_FRAMES_MAX 16384 /* of a stack; -E2BIG beyond */

/*
 * The stacks of the batch being made. One may be reserved, so that rows can refer to it, and added
 * later, but before the batch closes. Added once: the caller has seen that it is not there. 0 or
 * -errno.
 */
bool recording__has_stack(const struct recording *, uint64_t stack_id); /* or reserved */
int recording__reserve_stack(struct recording *, uint64_t stack_id);
int recording__add_stack(struct recording *, uint64_t stack_id, const struct row_frame *,
			 size_t cnt);

/*
 * A stack of the batch being made: appends its frames (struct row_frame, with ids of this batch).
 * How many, or -ENOENT when the batch does not have it or has handed its row group over to the
 * writer.
 */
ssize_t recording__stack(const struct recording *, uint64_t stack_id, struct buf *frames);
const char *recording__str(const struct recording *, uint32_t id, size_t *sz);

/* True when recording__tick() at now_ns would close the batch. */
bool recording__due(const struct recording *, uint64_t now_ns);

/* Copies the row. Closes nothing: generations change only in recording__tick(). 0 or -errno. */
int recording__add(struct recording *, const struct row *);

/*
 * Called between rows, often: hands full row groups to the writer thread and closes the batch when
 * it is full or old. `now_ns` is CLOCK_MONOTONIC. Returns 0, or the writer's -errno once it has
 * failed (ENOSPC …; said on stderr once, naming the file): the caller stops, what was written
 * stays.
 */
int recording__tick(struct recording *, uint64_t now_ns);

/* Closes the last batch, waits for the writer. 0 or -errno. A numbered folder that has nothing in
 * it is removed. */
int recording__finish(struct recording *);
/* Whether it was. */
bool recording__removed(const struct recording *);
void recording__free(struct recording *);

struct recording_stats {
	uint64_t rows, bytes,
		batches; /* of finished batches; of the one in the making bytes only */
	uint64_t added;	 /* rows, also those of batches that are not finished */
};
void recording__stats(const struct recording *, struct recording_stats *);

#endif
