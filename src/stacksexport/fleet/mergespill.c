// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergespill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/writeall.h"

#define BUFFERS_SZ (32u << 20) /* of all ranges */
#define BLOCK_MIN  64
#define BLOCK_MAX  4096
#define FILE_MAX   (8ull << 30)

/* Rows of a range that were written together. */
struct mergespill_block {
	uint32_t range, cnt;
	uint64_t off;
};

struct merge_spill {
	int fd;
	uint64_t sz; /* of the file */
	size_t ranges, block_rows;
	struct row *rows; /* block_rows of each range … */
	uint32_t *cnts;	  /* … of which so many are there */
	struct row *piece;
	struct mergespill_block *blocks;
	size_t block_cnt, block_cap;
};

/* Not O_TMPFILE, which NFS and others do not have. */
static int mergespill_open_nameless(const char *dir)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/rows.tmp", dir) < 0)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

struct merge_spill *merge_spill__new(const char *dir, size_t ranges)
{
	struct merge_spill *s = calloc(1, sizeof(*s));
	size_t rows = BUFFERS_SZ / sizeof(struct row) / ranges;

	if (!s)
		return NULL;
	s->ranges = ranges;
	s->block_rows = rows < BLOCK_MIN ? BLOCK_MIN : rows > BLOCK_MAX ? BLOCK_MAX : rows;
	s->fd = mergespill_open_nameless(dir);
	s->rows = calloc(ranges, s->block_rows * sizeof(*s->rows));
	s->cnts = calloc(ranges, sizeof(*s->cnts));
	s->piece = calloc(s->block_rows, sizeof(*s->piece));
	if (s->fd >= 0 && s->rows && s->cnts && s->piece)
		return s;
	merge_spill__free(s);
	return NULL;
}

void merge_spill__free(struct merge_spill *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->blocks);
	free(s->piece);
	free(s->cnts);
	free(s->rows);
	free(s);
}

/* Writes the rows of a range that are in memory. */
static int spill_write(struct merge_spill *s, size_t range)
{
	struct mergespill_block *blocks =
		array__room(s->blocks, s->block_cnt, &s->block_cap, sizeof(*blocks));
	const struct row *rows = s->rows + range * s->block_rows;
	size_t sz = s->cnts[range] * sizeof(*rows);
	int err;

	if (!blocks)
		return -ENOMEM;
	s->blocks = blocks;
	err = write_all(s->fd, rows, sz);
	if (err)
		return err;
	blocks[s->block_cnt++] =
		(struct mergespill_block){ (uint32_t)range, s->cnts[range], s->sz };
	s->sz += sz;
	s->cnts[range] = 0;
	return 0;
}

int merge_spill__add(struct merge_spill *s, size_t range, const struct row *row)
{
	s->rows[range * s->block_rows + s->cnts[range]++] = *row;
	return s->cnts[range] == s->block_rows ? spill_write(s, range) : 0;
}

bool merge_spill__is_full(const struct merge_spill *s)
{
	return s->sz >= FILE_MAX;
}

int merge_spill__each(struct merge_spill *s, size_t range,
		      int (*take)(const struct row *, size_t cnt, void *), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < s->block_cnt && !err; i++) {
		const struct mergespill_block *b = &s->blocks[i];
		ssize_t sz = (ssize_t)(b->cnt * sizeof(*s->piece)), got;

		if (b->range != range)
			continue;
		got = pread(s->fd, s->piece, (size_t)sz, (off_t)b->off);
		err = got == sz ? take(s->piece, b->cnt, arg) : got < 0 ? -errno : -EIO;
	}
	if (!err && s->cnts[range])
		err = take(s->rows + range * s->block_rows, s->cnts[range], arg);
	return err;
}

void merge_spill__clear(struct merge_spill *s)
{
	memset(s->cnts, 0, s->ranges * sizeof(*s->cnts));
	s->block_cnt = 0;
	s->sz = 0;
	lseek(s->fd, 0, SEEK_SET);
}
