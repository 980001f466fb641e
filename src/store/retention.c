// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "store/folder.h"

struct kept_batch {
	uint32_t number;
	uint64_t sz;
	uint64_t written_ns; /* CLOCK_REALTIME */
};

struct kept_batches {
	const struct retention *keep;
	const struct folder *folder;
	struct kept_batch *list; /* ascending by number after kept_batches_read() */
	size_t cnt, cap;
	uint64_t sz, largest_sz;
	uint64_t max_sz;
};

static uint64_t retention_ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Adds the batch. Skips it if out of memory: the next call sees it again. */
static void kept_batches_add(uint32_t number, void *arg)
{
	struct kept_batches *k = arg;
	struct kept_batch b = { .number = number };
	struct kept_batch *list = array__room(k->list, k->cnt, &k->cap, sizeof(*list));

	if (!list)
		return;
	k->list = list;
	for (int file = 0; file < FOLDER_FILE_CNT; file++) {
		char name[FOLDER_NAME_MAX];
		struct stat st;

		folder__name(name, (enum folder_file)file, number);
		if (fstatat(k->folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		b.sz += (uint64_t)st.st_size;
		b.written_ns = retention_ns_of(st.st_mtim);
	}
	k->list[k->cnt++] = b;
	k->sz += b.sz;
	k->largest_sz = b.sz > k->largest_sz ? b.sz : k->largest_sz;
}

static int kept_batch_compare(const void *pa, const void *pb)
{
	const struct kept_batch *a = pa, *b = pb;

	return a->number < b->number ? -1 : a->number > b->number;
}

static void kept_batches_read(struct kept_batches *k)
{
	folder__each_batch(k->folder, kept_batches_add, k);
	if (k->cnt)
		qsort(k->list, k->cnt, sizeof(*k->list), kept_batch_compare);
}

static bool retention_has_room(const struct kept_batches *k)
{
	struct statvfs fs;

	return fstatvfs(k->folder->fd, &fs) != 0 ||
	       (uint64_t)fs.f_bavail * fs.f_frsize >= 2 * k->largest_sz;
}

static bool retention_is_too_old(const struct kept_batches *k, const struct kept_batch *b)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return k->keep->age_ns && retention_ns_of(now) > b->written_ns + k->keep->age_ns;
}

/* Returns the smaller one of both limits. The file system may have grown since the last call. */
static uint64_t retention_max_sz_of(const struct retention *keep, const struct folder *f)
{
	uint64_t max_sz = keep->sz ? keep->sz : UINT64_MAX, part_sz;
	struct statvfs fs;

	if (!keep->percent || fstatvfs(f->fd, &fs) != 0)
		return max_sz;
	part_sz = (uint64_t)fs.f_blocks * fs.f_frsize / 100 * keep->percent;
	return part_sz < max_sz ? part_sz : max_sz;
}

static bool retention_is_surplus(const struct kept_batches *k, const struct kept_batch *b)
{
	return retention_is_too_old(k, b) || k->sz > k->max_sz || !retention_has_room(k);
}

/* Removes the events first: a reader leaves out a batch that lacks them. Returns 0 or -errno. */
static int kept_batch_remove(struct kept_batches *k, const struct kept_batch *b)
{
	static const enum folder_file order[] = { FOLDER_EVENTS, FOLDER_PROCESSES,
						  FOLDER_STACKTRACES };

	for (size_t i = 0; i < FOLDER_FILE_CNT; i++) {
		char name[FOLDER_NAME_MAX];

		folder__name(name, order[i], b->number);
		if (unlinkat(k->folder->fd, name, 0) == 0 || errno == ENOENT)
			continue;
		log__warn("cannot remove %s/%s: %s; the recording grows above the limit of --keep",
			  k->folder->path, name, strerror(errno));
		return -errno;
	}
	k->sz -= b->sz;
	return 0;
}

uint64_t retention__apply(const struct retention *keep, const struct folder *f)
{
	struct kept_batches k = { .keep = keep, .folder = f };
	uint64_t removed = 0;

	if (!keep->age_ns && !keep->sz && !keep->percent)
		return 0;
	k.max_sz = retention_max_sz_of(keep, f);
	kept_batches_read(&k);
	while (removed + 1 < k.cnt && retention_is_surplus(&k, &k.list[removed]) &&
	       kept_batch_remove(&k, &k.list[removed]) == 0)
		removed++;
	free(k.list);
	return removed;
}
