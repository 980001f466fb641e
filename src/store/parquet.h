/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One Parquet file of a table, written from front to back. It is unreadable without its footer. */
#ifndef STORE_PARQUET_H
#define STORE_PARQUET_H

#include "store/batch.h"
#include "store/strings.h"

struct parquet;

/* Rows of a batch, by their numbers. */
struct batch_rows {
	const uint32_t *rows;
	size_t cnt;
};

/*
 * Parses "zstd(1)" … "zstd(22)", "zstd" (level 3), "none" or "uncompressed" to a zstd level, 0:
 * none. Returns 0 or -EINVAL.
 */
int parquet__parse_compression(const char *s, int *level);

struct parquet_options {
	int zstd_level;
	const char *sources; /* "profile,switch": the recorded sources; borrowed */
	/* The key of the metadata that has the version of the columns; borrowed. NULL:
	 * "stacks.schema_version", the columns of a recording. */
	const char *version_key;
};

/* Appends to fd, which the caller keeps. Returns NULL and sets errno. */
struct parquet *parquet__new(const struct table *, int fd, const struct parquet_options *);
void parquet__free(struct parquet *);

/* Writes one row group, sorted if the table requires it; nothing for a batch without rows. Returns
 * 0, or -errno, after which the file is unusable. */
int parquet__write(struct parquet *, const struct batch *, const struct strings *);
/* Writes some rows of the batch, in this order, as one row group, whatever the table requires. The
 * table has no list. Returns like parquet__write(). */
int parquet__write_rows(struct parquet *, const struct batch *, const struct strings *,
			const struct batch_rows *);
/* Writes the footer. Does not sync. Returns 0 or -errno. */
int parquet__finish(struct parquet *);
uint64_t parquet__sz(const struct parquet *); /* bytes written so far */

#endif
