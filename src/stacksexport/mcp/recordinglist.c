// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/mcp/recordinglist.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "stacksexport/duck/recfiles.h"
#include "stacksexport/newest.h"

#define SHOWN_MAX 200

/* What a folder has of a recording. */
struct recording_entry {
	char name[256];
	size_t batches;
	uint64_t sz;
	time_t written;
};

struct recording_entries {
	struct recording_entry *list;
	size_t cnt, cap;
};

/* Counts the files of a folder. */
static void recordinglist_entry_read(struct recording_entry *e, DIR *dir)
{
	struct dirent *file;
	struct stat st;

	while ((file = readdir(dir))) {
		if (fnmatch("*-[0-9]*.parquet", file->d_name, 0) != 0 ||
		    fstatat(dirfd(dir), file->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		e->batches += fnmatch("events-*", file->d_name, 0) == 0;
		e->sz += (uint64_t)st.st_size;
		e->written = st.st_mtime > e->written ? st.st_mtime : e->written;
	}
}

static void recordinglist_entries_add(struct recording_entries *all, int root, const char *name)
{
	struct recording_entry *list = array__room(all->list, all->cnt, &all->cap, sizeof(*list));
	int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	all->list = list ? list : all->list;
	if (list && dir) {
		struct recording_entry *e = &list[all->cnt];

		*e = (struct recording_entry){ 0 };
		snprintf(e->name, sizeof(e->name), "%s", name);
		recordinglist_entry_read(e, dir);
		all->cnt += e->batches > 0;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

static int recordinglist_compare_ages(const void *a, const void *b)
{
	const struct recording_entry *x = a, *y = b;

	return x->written < y->written ? -1 : x->written > y->written;
}

static void recordinglist_entry_show(const struct recording_entry *e, const char *root,
				     struct buf *out)
{
	char age[NEWEST_AGE_SZ];

	newest__age(e->written, time(NULL), age);
	buf__printf(out, "%s/%s: %zu %s, %.1f MB, written %s\n", root, e->name, e->batches,
		    e->batches == 1 ? "batch" : "batches", (double)e->sz / 1e6, age);
}

void recording_list__append(struct buf *out)
{
	struct recording_entries all = { 0 };
	const char *root = recfiles__root();
	DIR *dir = opendir(root);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			recordinglist_entries_add(&all, dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
	if (all.cnt)
		qsort(all.list, all.cnt, sizeof(*all.list), recordinglist_compare_ages);
	for (size_t i = all.cnt > SHOWN_MAX ? all.cnt - SHOWN_MAX : 0; i < all.cnt; i++)
		recordinglist_entry_show(&all.list[i], root, out);
	if (!all.cnt)
		buf__printf(out, "There is no recording in %s.\n", root);
	free(all.list);
}
