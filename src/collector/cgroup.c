// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/mount.h"
#include "base/monotonic.h"

#define RESCAN_NS    1000000000
#define RESCAN_SHARE 50 /* and no more than this part of the time, for many */
#define DEPTH_MAX    64
#define KNOWN_MAX    65536 /* folders; a user may make as many as it likes */

struct known {
	uint64_t id;
	UT_hash_handle hh;
	char path[];
};

struct cgroups {
	char *root; /* mount point of cgroup v2, or NULL */
	struct known *by_id;
	uint64_t rescan_ns; /* not before this time */
};

struct cgroups *cgroups__new(void)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (c)
		c->root = mount__point("cgroup2");
	return c;
}

static void forget(struct cgroups *c)
{
	struct known *k, *next;

	HASH_ITER (hh, c->by_id, k, next) {
		HASH_DEL(c->by_id, k);
		free(k);
	}
}

void cgroups__free(struct cgroups *c)
{
	if (!c)
		return;
	forget(c);
	free(c->root);
	free(c);
}

static void remember(struct cgroups *c, uint64_t id, const char *path)
{
	struct known *k;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
	if (k || HASH_COUNT(c->by_id) >= KNOWN_MAX)
		return;
	k = malloc(sizeof(*k) + strlen(path) + 1);
	if (!k)
		return;
	k->id = id;
	strcpy(k->path, path);
	HASH_ADD(hh, c->by_id, id, sizeof(k->id), k);
}

/* Remembers `dir` and what is below it; `path` is its end, from the root. */
static void scan(struct cgroups *c, const char *dir, int depth)
{
	const char *path = dir + strlen(c->root);
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (stat(dir, &st) != 0 || depth == DEPTH_MAX)
		return;
	remember(c, st.st_ino, *path ? path : "/");
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		char *sub;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (asprintf(&sub, "%s/%s", dir, e->d_name) < 0)
			continue;
		scan(c, sub, depth + 1);
		free(sub);
	}
	if (d)
		closedir(d);
}

/* Most of a full table are gone by now. */
static void rescan(struct cgroups *c, uint64_t begin_ns)
{
	uint64_t cost_ns;

	if (HASH_COUNT(c->by_id) >= KNOWN_MAX)
		forget(c);
	scan(c, c->root, 0);
	cost_ns = monotonic__ns() - begin_ns;
	c->rescan_ns = begin_ns + cost_ns * RESCAN_SHARE;
	if (c->rescan_ns < begin_ns + RESCAN_NS)
		c->rescan_ns = begin_ns + RESCAN_NS;
}

const char *cgroups__path(struct cgroups *c, uint64_t id)
{
	uint64_t begin_ns = monotonic__ns();
	struct known *k;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
	if (!k && c->root && begin_ns >= c->rescan_ns) {
		rescan(c, begin_ns);
		HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
	}
	return k ? k->path : NULL;
}
