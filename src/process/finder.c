// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/handle.h"

#define DIR_MAX 16

struct finder {
	int sysroot; /* -1: none */
	char *dirs[DIR_MAX];
	size_t dir_cnt;
	struct downloads *downloads; /* NULL: none */
};

/* perf's cache has a directory for each file; distributions have a link to the file. */
static const char *const names[] = { "/elf", "/vdso", "" };

#define NAME_CNT (sizeof(names) / sizeof(*names))

int finder__by_path(const struct finder *f, const char *path)
{
	return f->sysroot < 0 ? -ENOENT : handle__below(f->sysroot, path);
}

static int finder_downloaded(struct finder *f, const struct build_id *id)
{
	const char *path = f->downloads ? downloads__path(f->downloads, id) : NULL;

	return path ? handle__open(path) : -ENOENT;
}

int finder__by_build_id(struct finder *f, const struct build_id *id, size_t nth)
{
	char path[PATH_MAX], hex[2 * BUILD_ID_MAX + 1];

	if (id->sz < 2 || nth > f->dir_cnt * NAME_CNT)
		return -ERANGE;
	if (nth == f->dir_cnt * NAME_CNT)
		return finder_downloaded(f, id);
	for (size_t i = 0; i < id->sz; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	if (snprintf(path, sizeof(path), "%s/%.2s/%s%s", f->dirs[nth / NAME_CNT], hex, hex + 2,
		     names[nth % NAME_CNT]) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return handle__open(path);
}

void finder__request_download(struct finder *f, const struct build_id *id)
{
	if (f->downloads)
		downloads__request(f->downloads, id);
}

size_t finder__found(const struct finder *f)
{
	return f->downloads ? downloads__found(f->downloads) : 0;
}

bool finder__wait(struct finder *f, uint64_t max_ns)
{
	return !f->downloads || downloads__wait(f->downloads, max_ns);
}

void finder__stats(struct finder *f, struct download_stats *s)
{
	*s = (struct download_stats){ 0 };
	if (f->downloads)
		downloads__stats(f->downloads, s);
}

static int finder_add_dir(struct finder *f, const char *before, const char *dir)
{
	char path[PATH_MAX];

	if (f->dir_cnt == DIR_MAX)
		return -E2BIG;
	if (snprintf(path, sizeof(path), "%s%s", before, dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f->dirs[f->dir_cnt] = strdup(path);
	if (!f->dirs[f->dir_cnt])
		return -ENOMEM;
	f->dir_cnt++;
	return 0;
}

/*
 * Adds the default trees: perf's cache, the links of debug packages, and the links some
 * distributions keep for each program.
 */
static int finder_add_usual(struct finder *f, const char *sysroot)
{
	static const char *const dirs[] = { "/usr/lib/debug/.build-id", "/usr/lib/.build-id" };
	const char *roots[] = { sysroot, "" }, *home = secure_getenv("HOME");
	int err = home && *home ? finder_add_dir(f, home, "/.debug/.build-id") : 0;

	for (size_t r = 0; r < 2; r++)
		for (size_t i = 0; i < 2 && roots[r] && !err; i++)
			err = finder_add_dir(f, roots[r], dirs[i]);
	return err;
}

static int finder_fill(struct finder *f, const struct finder_options *o)
{
	int err = 0;

	if (o->sysroot)
		f->sysroot = open(o->sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->sysroot && f->sysroot < 0)
		return -errno;
	for (size_t i = 0; o->dirs && o->dirs[i] && !err; i++)
		err = finder_add_dir(f, "", o->dirs[i]);
	if (!o->dirs)
		err = finder_add_usual(f, o->sysroot);
	if (err || !o->debuginfod)
		return err;
	f->downloads = downloads__new(o->progress, o->arg);
	return f->downloads || errno == ENOENT
		       ? 0
		       : -errno; /* no servers configured: as if debuginfod was not requested */
}

struct finder *finder__new(const struct finder_options *o)
{
	struct finder *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return NULL;
	f->sysroot = -1;
	err = finder_fill(f, o);
	if (!err)
		return f;
	finder__free(f);
	return errno = -err, NULL;
}

void finder__free(struct finder *f)
{
	if (!f)
		return;
	downloads__free(f->downloads);
	for (size_t i = 0; i < f->dir_cnt; i++)
		free(f->dirs[i]);
	if (f->sysroot >= 0)
		close(f->sysroot);
	free(f);
}
