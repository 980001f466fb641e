// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/push/pushfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/writeall.h"
#include "stacksexport/fleet/fleetfolder.h"
#include "stacksexport/outfile.h"

static int pushfiles_cannot(const char *what, const char *path, int err)
{
	log__error("cannot %s %s: %s", what, path, strerror(-err));
	return err;
}

static void pushfiles_forget_files(struct push_files *p)
{
	for (size_t i = 0; i < p->cnt; i++)
		free(p->files[i].name);
	p->cnt = p->unsent_cnt = 0;
	p->unsent_sz = 0;
}

void push_files__free(struct push_files *p)
{
	pushfiles_forget_files(p);
	free(p->files);
	free(p->list_path);
	*p = (struct push_files){ 0 };
}

static int pushfiles_add_file(struct push_files *p, const char *name, const struct stat *st)
{
	struct push_file *files = array__room(p->files, p->cnt, &p->cap, sizeof(*files));
	char *copy = strdup(name);

	if (files)
		p->files = files;
	if (!files || !copy) {
		free(copy);
		return -ENOMEM;
	}
	files[p->cnt++] =
		(struct push_file){ copy, (uint64_t)st->st_size,
				    st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec, false };
	return 0;
}

static bool pushfiles_is_part(const char *name)
{
	size_t sz = strlen(name), suffix = strlen(".parquet");

	return strncmp(name, "part-", strlen("part-")) == 0 && sz > suffix &&
	       strcmp(name + sz - suffix, ".parquet") == 0;
}

static int pushfiles_by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Adds the parts of one table. */
static int pushfiles_find_table(struct push_files *p, const char *table)
{
	size_t prefix = strlen(p->folder) + 1;
	char *paths[2] = { NULL, NULL };
	FTSENT *e;
	int err = 0;
	FTS *fts;

	if (asprintf(&paths[0], "%s/%s", p->folder, table) < 0)
		return -ENOMEM;
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, pushfiles_by_name);
	while (fts && !err && (e = fts_read(fts)))
		if (e->fts_info == FTS_F && pushfiles_is_part(e->fts_name))
			err = pushfiles_add_file(p, e->fts_path + prefix, e->fts_statp);
	if (fts)
		fts_close(fts);
	free(paths[0]);
	return err;
}

/* Marks the file of one line of the list: SIZE MTIME NAME. */
static void pushfiles_take_line(struct push_files *p, char *line)
{
	uint64_t sz;
	int64_t mtime_ns;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNu64 " %" SCNd64 " %n", &sz, &mtime_ns, &at) != 2 || !at)
		return;
	for (size_t i = 0; i < p->cnt; i++) {
		struct push_file *f = &p->files[i];

		if (f->sz == sz && f->mtime_ns == mtime_ns && strcmp(f->name, line + at) == 0)
			f->is_sent = true;
	}
}

static int pushfiles_read_list(struct push_files *p)
{
	FILE *f = fopen(p->list_path, "re");
	char *line = NULL;
	size_t cap = 0;

	if (!f)
		return errno == ENOENT ? 0 : pushfiles_cannot("read", p->list_path, -errno);
	while (getline(&line, &cap, f) > 0)
		pushfiles_take_line(p, line);
	free(line);
	fclose(f);
	return 0;
}

static int pushfiles_make_list_path(struct push_files *p, const char *url)
{
	char *folder;
	int err;

	if (p->list_path)
		return 0;
	if (asprintf(&folder, "%s/" FLEET_STATE "/pushed", p->folder) < 0)
		return -ENOMEM;
	err = outfile__make_dirs(folder);
	if (!err &&
	    asprintf(&p->list_path, "%s/%016" PRIx64, folder, digest__of(url, strlen(url))) < 0) {
		p->list_path = NULL;
		err = -ENOMEM;
	}
	free(folder);
	return err;
}

int push_files__find(struct push_files *p, const char *folder, const char *url)
{
	int err;

	p->folder = folder;
	pushfiles_forget_files(p);
	err = pushfiles_make_list_path(p, url);
	for (int t = 0; t < FLEET_TABLE_CNT && !err; t++)
		err = pushfiles_find_table(p, fleet_tables[t].name);
	if (!err)
		err = pushfiles_read_list(p);
	for (size_t i = 0; i < p->cnt; i++) {
		p->unsent_cnt += !p->files[i].is_sent;
		p->unsent_sz += p->files[i].is_sent ? 0 : p->files[i].sz;
	}
	if (err == -ENOMEM)
		log__error("out of memory");
	return err;
}

int push_files__mark_sent(struct push_files *p, struct push_file *f)
{
	int fd = open(p->list_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	struct buf line = { 0 };
	int err = fd < 0 ? -errno : 0;

	buf__printf(&line, "%" PRIu64 " %" PRId64 " %s\n", f->sz, f->mtime_ns, f->name);
	if (!err)
		err = buf__err(&line);
	if (!err)
		err = write_all(fd, line.data, line.sz);
	if (!err && fsync(fd) != 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	buf__free(&line);
	if (err)
		return pushfiles_cannot("write", p->list_path, err);
	f->is_sent = true;
	p->unsent_cnt--;
	p->unsent_sz -= f->sz;
	return 0;
}

int push_files__remove(struct push_files *p, const struct push_file *f)
{
	char *path;
	int err = 0;

	if (asprintf(&path, "%s/%s", p->folder, f->name) < 0)
		return -ENOMEM;
	if (unlink(path) != 0 && errno != ENOENT)
		err = pushfiles_cannot("remove", path, -errno);
	free(path);
	return err;
}
