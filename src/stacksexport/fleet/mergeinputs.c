// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergeinputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/digest.h"
#include "base/hashindex.h"
#include "base/log.h"
#include "base/seed.h"
#include "stacksexport/duck/parquetfile.h"

#define SUFFIX	   ".parquet"
#define DEPTH_MAX  8
#define FOOTER_MAX (16u << 20)
#define YEAR_MAX   2200 /* nanoseconds fit into 64 bits */

/* One walk through folders. */
struct merge_walk {
	struct merge_inputs *in;
	const struct merge_batch *old; /* found before */
	struct hashindex old_index;
	dev_t output_dev; /* the folder that is written */
	ino_t output_ino;
};

char *merge_inputs__path(const struct merge_inputs *in, const struct merge_batch *b,
			 enum fleet_table table)
{
	char *path;

	if (asprintf(&path, "%s/%s%s", strtab__str(in->names, b->folder, NULL),
		     b->is_part ? "" : fleet_tables[table].batch_prefix,
		     strtab__str(in->names, b->suffix, NULL)) < 0)
		return NULL;
	return path;
}

struct merge_pending merge_inputs__pending(const struct merge_inputs *in)
{
	struct merge_pending p = { .since_ns = INT64_MAX };

	for (size_t i = 0; i < in->cnt; i++)
		for (int t = 0; t < FLEET_TABLE_CNT && !in->batches[i].is_bad; t++) {
			const struct merge_file *f = &in->batches[i].files[t];

			if (f->is_done)
				continue;
			p.sz += f->sz;
			p.since_ns = f->mtime_ns < p.since_ns ? f->mtime_ns : p.since_ns;
		}
	return p;
}

static bool mergeinputs_ends_in_suffix(const char *name)
{
	size_t sz = strlen(name);

	return sz > strlen(SUFFIX) && strcmp(name + sz - strlen(SUFFIX), SUFFIX) == 0;
}

/* Returns the digest of the last bytes of a Parquet file: the places, sizes and limits of all of
 * its columns. 0: it cannot be read. */
static uint64_t mergeinputs_footer_digest(int fd, uint64_t sz)
{
	uint8_t tail[8], *footer;
	uint64_t digest = 0;
	uint32_t footer_sz;

	if (sz < 12 || pread(fd, tail, sizeof(tail), (off_t)(sz - 8)) != sizeof(tail))
		return 0;
	footer_sz = tail[0] | tail[1] << 8 | tail[2] << 16 | (uint32_t)tail[3] << 24;
	if (memcmp(tail + 4, "PAR1", 4) != 0 || footer_sz > sz - 12 || footer_sz > FOOTER_MAX)
		return 0;
	footer = malloc(footer_sz + sizeof(sz));
	if (footer && pread(fd, footer, footer_sz, (off_t)(sz - 8 - footer_sz)) == footer_sz) {
		memcpy(footer + footer_sz, &sz, sizeof(sz));
		digest = digest__of(footer, footer_sz + sizeof(sz));
	}
	free(footer);
	return digest;
}

static int64_t mergeinputs_mtime_of(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Fills the file if it exists. Returns false, after a warning, if it cannot be read. */
static bool merge_file__read(struct merge_file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	*file = (struct merge_file){ .is_done = true };
	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		file->is_there = true;
		file->is_done = false;
		file->sz = (uint64_t)st.st_size;
		file->mtime_ns = mergeinputs_mtime_of(&st);
		file->id = mergeinputs_footer_digest(fd, file->sz);
	}
	if (!file->id)
		log__warn("left out: %s: %s", path,
			  fd < 0 ? strerror(errno) : "it is not a complete Parquet file");
	if (fd >= 0)
		close(fd);
	return file->id != 0;
}

/* Returns true if the files of a batch are as they were read. */
static bool mergeinputs_is_unchanged(const struct merge_inputs *in, const struct merge_batch *b)
{
	for (int t = 0; t < FLEET_TABLE_CNT; t++) {
		const struct merge_file *f = &b->files[t];
		char *path = f->is_there ? merge_inputs__path(in, b, (enum fleet_table)t) : NULL;
		struct stat st = { 0 };
		bool same = !f->is_there || (path && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
					     (uint64_t)st.st_size == f->sz &&
					     mergeinputs_mtime_of(&st) == f->mtime_ns);

		free(path);
		if (!same)
			return false;
	}
	return true;
}

static uint64_t mergeinputs_batch_hash(const struct merge_batch *b)
{
	return seed__mix((uint64_t)b->folder << 32 | b->suffix);
}

/* Takes over what was found before, if nothing is left to do for this batch. */
static bool mergeinputs_reuse(const struct merge_walk *w, struct merge_batch *b)
{
	const struct merge_batch *old = w->old;
	uint32_t n = HASHINDEX_FIND(&w->old_index, mergeinputs_batch_hash(b), i,
				    old[i].folder == b->folder && old[i].suffix == b->suffix);

	if (n == HASHINDEX_NONE)
		return false;
	for (int t = 0; t < FLEET_TABLE_CNT && !old[n].is_bad; t++)
		if (!old[n].files[t].is_done)
			return false;
	if (!mergeinputs_is_unchanged(w->in, &old[n]))
		return false;
	*b = old[n];
	return true;
}

static struct merge_batch *inputs_add(struct merge_inputs *in, const char *folder,
				      const char *suffix)
{
	struct merge_batch *batches = array__room(in->batches, in->cnt, &in->cap, sizeof(*batches));
	struct merge_batch *b;

	if (!batches)
		return NULL;
	in->batches = batches;
	b = &batches[in->cnt];
	*b = (struct merge_batch){ .folder = strtab__id(in->names, folder, strlen(folder)),
				   .suffix = strtab__id(in->names, suffix, strlen(suffix)) };
	if (!b->folder || !b->suffix)
		return NULL;
	in->cnt++;
	return b;
}

/* Fills the files of `b`; with `only`, that of one table. */
static int mergeinputs_read_files(struct merge_inputs *in, struct merge_batch *b, int only)
{
	for (int t = 0; t < FLEET_TABLE_CNT; t++) {
		char *path;

		b->files[t].is_done = true;
		if (only >= 0 && t != only)
			continue;
		path = merge_inputs__path(in, b, (enum fleet_table)t);
		if (!path)
			return -ENOMEM;
		b->is_bad |= !merge_file__read(&b->files[t], path);
		free(path);
	}
	return 0;
}

/* `name` is events-N.parquet. Its stacks got their name before it. */
static int mergeinputs_add_batch(const struct merge_walk *w, const char *folder, const char *name)
{
	size_t prefix = strlen(fleet_tables[FLEET_EVENTS].batch_prefix);
	struct merge_batch *b = inputs_add(w->in, folder, name + prefix);
	int err;

	if (b && mergeinputs_reuse(w, b))
		return 0;
	err = b ? mergeinputs_read_files(w->in, b, -1) : -ENOMEM;
	if (!err && !b->is_bad &&
	    (!b->files[FLEET_STACKS].is_there || !b->files[FLEET_EVENTS].is_there)) {
		log__warn("left out: %s/%s: the file of its stacks is missing", folder, name);
		b->is_bad = true;
	}
	return err;
}

/* The table and the day of a folder of parts: …/stacks/day=2026-11-26. */
static bool mergeinputs_parse_part_folder(const char *folder, enum fleet_table *table,
					  struct merge_batch *b)
{
	const char *day = strstr(folder, "/day=");
	int year, month, date, hour = 0;

	for (const char *next = day; next; next = strstr(next + 1, "/day="))
		day = next;
	if (!day || sscanf(day, "/day=%4d-%2d-%2d/hour=%2d", &year, &month, &date, &hour) < 3 ||
	    year < 1970 || year > YEAR_MAX)
		return false;
	for (int t = 0; t < FLEET_TABLE_CNT; t++) {
		size_t sz = strlen(fleet_tables[t].name);
		struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = date };

		if ((size_t)(day - folder) <= sz || day[-(ptrdiff_t)sz - 1] != '/' ||
		    strncmp(day - sz, fleet_tables[t].name, sz) != 0)
			continue;
		*table = (enum fleet_table)t;
		b->first_ns = b->last_ns = (timegm(&tm) + hour * 3600) * 1000000000;
		return b->first_ns >= 0;
	}
	return false;
}

static int mergeinputs_add_part(const struct merge_walk *w, const char *folder, const char *name)
{
	struct merge_inputs *in = w->in;
	struct merge_batch *b = inputs_add(in, folder, name);
	enum fleet_table table;

	if (!b)
		return -ENOMEM;
	b->is_part = true;
	in->part_cnt++;
	if (mergeinputs_reuse(w, b))
		return 0;
	if (mergeinputs_parse_part_folder(folder, &table, b))
		return mergeinputs_read_files(in, b, table);
	in->cnt--;
	in->part_cnt--;
	return 0;
}

static int mergeinputs_walk_folder(const struct merge_walk *w, const char *folder, int depth);

static int mergeinputs_walk_entry(const struct merge_walk *w, const char *folder,
				  const struct dirent *e, int depth)
{
	const char *events = fleet_tables[FLEET_EVENTS].batch_prefix;
	char path[PATH_MAX];
	struct stat st;

	if (e->d_name[0] == '.' || e->d_name[0] == '_')
		return 0;
	if (mergeinputs_ends_in_suffix(e->d_name)) {
		if (strncmp(e->d_name, events, strlen(events)) == 0)
			return mergeinputs_add_batch(w, folder, e->d_name);
		if (strncmp(e->d_name, "part-", strlen("part-")) == 0)
			return mergeinputs_add_part(w, folder, e->d_name);
		return 0;
	}
	if (depth == DEPTH_MAX || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= sizeof(path) ||
	    lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	return st.st_dev == w->output_dev && st.st_ino == w->output_ino
		       ? 0
		       : mergeinputs_walk_folder(w, path, depth + 1);
}

static int mergeinputs_walk_folder(const struct merge_walk *w, const char *folder, int depth)
{
	struct dirent **names;
	int cnt = scandir(folder, &names, NULL, alphasort), err = 0;

	if (cnt < 0)
		return errno == ENOENT && depth ? 0 : parquet_file__unreadable(folder, -errno);
	for (int i = 0; i < cnt; i++) {
		if (!err)
			err = mergeinputs_walk_entry(w, folder, names[i], depth);
		free(names[i]);
	}
	free(names);
	return err;
}

static int mergeinputs_index_old(struct merge_walk *w, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = hashindex__add(&w->old_index, mergeinputs_batch_hash(&w->old[i]),
				     (uint32_t)i);
	return err;
}

int merge_inputs__find(struct merge_inputs *in, const char *const *args, size_t cnt,
		       const char *output)
{
	struct merge_batch *old = in->batches;
	struct merge_walk w = { .in = in, .old = old };
	struct stat st;
	int err = mergeinputs_index_old(&w, in->cnt);

	if (!in->names)
		in->names = strtab__new();
	*in = (struct merge_inputs){ .names = in->names };
	if (!in->names)
		err = -ENOMEM;
	if (stat(output, &st) == 0) {
		w.output_dev = st.st_dev;
		w.output_ino = st.st_ino;
	}
	for (size_t i = 0; i < cnt && !err; i++)
		err = mergeinputs_walk_folder(&w, args[i], 0);
	if (err == -ENOMEM)
		log__error("out of memory");
	hashindex__free(&w.old_index);
	free(old);
	return err;
}

void merge_inputs__free(struct merge_inputs *in)
{
	strtab__free(in->names);
	free(in->batches);
	*in = (struct merge_inputs){ 0 };
}

/* Removes the events first: a reader leaves out a batch that lacks them. */
static bool mergeinputs_remove_batch(const struct merge_inputs *in, const struct merge_batch *b)
{
	for (int t = FLEET_TABLE_CNT; t-- > 0;) {
		char *path = b->files[t].is_there ? merge_inputs__path(in, b, (enum fleet_table)t)
						  : NULL;

		if (path && unlink(path) != 0) {
			log__warn("cannot remove %s: %s", path, strerror(errno));
			free(path);
			return false;
		}
		free(path);
	}
	return true;
}

size_t merge_inputs__remove_done(const struct merge_inputs *in)
{
	size_t cnt = 0;

	for (size_t i = 0; i < in->cnt; i++) {
		const struct merge_batch *b = &in->batches[i];
		bool done = !b->is_part && !b->is_bad;

		for (int t = 0; t < FLEET_TABLE_CNT; t++)
			done &= b->files[t].is_done;
		if (done && mergeinputs_is_unchanged(in, b))
			cnt += mergeinputs_remove_batch(in, b);
	}
	return cnt;
}
