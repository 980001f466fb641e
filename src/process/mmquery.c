// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/mmquery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/handle.h"
#include "base/jobs.h"
#include "process/crowd.h"

#define MAPS_SZ_MAX (16u << 20) /* 60,000 mappings with paths of ordinary length */

struct mmquery_question {
	struct errand errand;
	int proc;
	uint32_t tgid;
	/* map_files: */
	char name[80];
	int result;
	struct stat st;
	/* maps: */
	struct buf maps; /* struct maps_entry, each with its path, padded */
	size_t map_cnt;
};

struct maps_entry {
	struct record_mmap map; /* .path is not set */
	size_t path_sz;		/* with its NUL */
	char path[];
};

static struct mmquery_question *mmquery_question_of(struct errand *e)
{
	return (struct mmquery_question *)((char *)e - offsetof(struct mmquery_question, errand));
}

static void mmquery_question_drop(struct errand *e)
{
	struct mmquery_question *q = mmquery_question_of(e);

	buf__free(&q->maps);
	free(q);
}

/* Root may hang without bad intent (NFS). So each of its processes counts as a user. Processes that
 * have ended count as one. */
static uint64_t mmquery_question_user(const struct errand *e)
{
	const struct mmquery_question *q = mmquery_question_of((struct errand *)e);
	uint64_t crowd = crowd__of(q->proc, q->tgid);

	return crowd == JOB_CROWD_ROOT ? 1ull << 63 | q->tgid : crowd;
}

static struct mmquery_question *mmquery_question_new(const struct mmquery *m,
						     void (*run)(struct errand *))
{
	struct mmquery_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->errand = (struct errand){ .run = run,
				     .drop = mmquery_question_drop,
				     .user = mmquery_question_user };
	q->proc = m->proc;
	q->tgid = m->tgid;
	return q;
}

/* ---- map_files ----------------------------------------------------------------------------------
 */

static void mmquery_run_handle(struct errand *e)
{
	struct mmquery_question *q = mmquery_question_of(e);

	q->result = openat(q->proc, q->name, O_PATH | O_CLOEXEC);
	if (q->result < 0)
		q->result = -errno;
}

static void mmquery_drop_handle(struct errand *e)
{
	struct mmquery_question *q = mmquery_question_of(e);

	if (q->result >= 0)
		close(q->result);
	mmquery_question_drop(e);
}

static void mmquery_run_stat(struct errand *e)
{
	struct mmquery_question *q = mmquery_question_of(e);

	q->result = handle__stat(q->proc, q->name, &q->st);
}

static void mmquery_question_name(struct mmquery_question *q, uint64_t start, uint64_t len)
{
	snprintf(q->name, sizeof(q->name), "%u/map_files/%llx-%llx", q->tgid,
		 (unsigned long long)start, (unsigned long long)(start + len));
}

int mmquery__handle(const struct mmquery *m, uint64_t start, uint64_t len)
{
	struct mmquery_question *q = mmquery_question_new(m, mmquery_run_handle);
	int result;

	if (!q)
		return -ENOMEM;
	mmquery_question_name(q, start, len);
	q->result = -ETIMEDOUT;
	q->errand.drop = mmquery_drop_handle;
	if (!errands__run(m->errands, &q->errand))
		return -ETIMEDOUT;
	result = q->result;
	mmquery_question_drop(&q->errand);
	return result;
}

int mmquery__stat(const struct mmquery *m, uint64_t start, uint64_t len, struct stat *st)
{
	struct mmquery_question *q = mmquery_question_new(m, mmquery_run_stat);
	int result;

	if (!q)
		return -ENOMEM;
	mmquery_question_name(q, start, len);
	if (!errands__run(m->errands, &q->errand))
		return -ETIMEDOUT;
	result = q->result;
	*st = q->st;
	mmquery_question_drop(&q->errand);
	return result;
}

/* ---- maps ---------------------------------------------------------------------------------------
 */

/* Keeps a copy of the record. Drops it if out of memory or above the limit. */
static void mmquery_keep_map(const struct record_mmap *map, void *arg)
{
	struct mmquery_question *q = arg;
	size_t path_sz = strlen(map->path) + 1;
	size_t sz = (sizeof(struct maps_entry) + path_sz + 7) & ~(size_t)7;
	struct maps_entry *e;

	if (q->maps.sz + sz > MAPS_SZ_MAX)
		return;
	e = (struct maps_entry *)buf__extend(&q->maps, sz);
	if (!e)
		return;
	e->map = *map;
	e->path_sz = path_sz;
	memcpy(e->path, map->path, path_sz);
	q->map_cnt++;
}

static void mmquery_read_maps(struct mmquery_question *q, const char *name)
{
	int fd = openat(q->proc, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	maps__read(fd, mmquery_keep_map, q);
	close(fd);
}

static void mmquery_read_tasks(struct mmquery_question *q)
{
	char name[64];
	struct dirent *d;
	DIR *dir;
	int fd;

	snprintf(name, sizeof(name), "%u/task", q->tgid);
	fd = openat(q->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	if (!dir)
		return;
	while (q->map_cnt == 0 && (d = readdir(dir))) {
		unsigned long tid = strtoul(d->d_name, NULL, 10);

		if (tid == 0 || tid == q->tgid)
			continue;
		snprintf(name, sizeof(name), "%u/task/%lu/maps", q->tgid, tid);
		mmquery_read_maps(q, name);
	}
	closedir(dir);
}

static void mmquery_run_maps(struct errand *e)
{
	struct mmquery_question *q = mmquery_question_of(e);
	char name[32];

	snprintf(name, sizeof(name), "%u/maps", q->tgid);
	mmquery_read_maps(q, name);
	if (q->map_cnt == 0)
		mmquery_read_tasks(q);
}

static void mmquery_each_map(const struct mmquery_question *q, maps_fn fn, void *arg)
{
	size_t off = 0;

	for (size_t i = 0; i < q->map_cnt; i++) {
		struct maps_entry *e = (struct maps_entry *)(q->maps.data + off);

		e->map.path = e->path;
		fn(&e->map, arg);
		off += (sizeof(*e) + e->path_sz + 7) & ~(size_t)7;
	}
}

int mmquery__maps(const struct mmquery *m, maps_fn fn, void *arg)
{
	struct mmquery_question *q = mmquery_question_new(m, mmquery_run_maps);

	if (!q)
		return -ENOMEM;
	if (!errands__run(m->errands, &q->errand))
		return -ETIMEDOUT;
	mmquery_each_map(q, fn, arg);
	mmquery_question_drop(&q->errand);
	return 0;
}
