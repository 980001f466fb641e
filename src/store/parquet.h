/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One Parquet file of a table, written front to back. A file without its footer is unreadable. */
#ifndef STORE_PARQUET_H
#define STORE_PARQUET_H

#include "store/batch.h"
#include "store/strings.h"

struct parquet;

/*
 * "zstd(1)" … "zstd(22)", "zstd" (its level 3), "none" or "uncompressed" → zstd's level, 0: none.
 * 0 or -EINVAL.
 */
int parquet__parse_compression(const char *s, int *level);

struct parquet_options {
	int zstd_level;
	const char *sources; /* "profile,switch": what was recorded; borrowed */
};

/* Appends to fd, which stays the caller's. NULL + errno. */
struct parquet *parquet__new(const struct table *, int fd, const struct parquet_options *);
void parquet__free(struct parquet *);

/* One row group, sorted if the table says so; a batch without rows writes nothing. 0 or -errno, and
 * the file is of no use then. */
int parquet__write(struct parquet *, const struct batch *, const struct strings *);
/* The footer. Does not sync. 0 or -errno. */
int parquet__finish(struct parquet *);
uint64_t parquet__sz(const struct parquet *); /* bytes so far */

#endif
