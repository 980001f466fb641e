// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "collector/clock.h"

#define RESCAN_NS 1000000000
#define DEPTH_MAX 64
#define KNOWN_MAX 65536 /* folders; a user may make as many as it likes */

struct known {
	uint64_t id;
	UT_hash_handle hh;
	char path[];
};

struct cgroups {
	char *root; /* mount point of cgroup v2, or NULL */
	struct known *by_id;
	uint64_t scanned_ns;
};

static char *mount_point(void)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	char *root = NULL;

	while (f && !root && (m = getmntent(f)))
		if (strcmp(m->mnt_type, "cgroup2") == 0)
			root = strdup(m->mnt_dir);
	if (f)
		endmntent(f);
	return root;
}

struct cgroups *cgroups__new(void)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (c)
		c->root = mount_point();
	return c;
}

void cgroups__free(struct cgroups *c)
{
	struct known *k, *next;

	if (!c)
		return;
	HASH_ITER (hh, c->by_id, k, next) {
		HASH_DEL(c->by_id, k);
		free(k);
	}
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

const char *cgroups__path(struct cgroups *c, uint64_t id)
{
	uint64_t now = clock__now_ns();
	struct known *k;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
	if (!k && c->root && (c->scanned_ns == 0 || now - c->scanned_ns > RESCAN_NS)) {
		scan(c, c->root, 0);
		c->scanned_ns = now;
		HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
	}
	return k ? k->path : NULL;
}
