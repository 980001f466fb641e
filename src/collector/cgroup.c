// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mount.h"
#include "base/strcopy.h"

#define KNOWN_MAX     65536 /* folders; a user may create any number */
#define FILEID_KERNFS 0xfe  /* include/linux/exportfs.h: a handle is the id */

struct cgroup_known {
	uint64_t id;
	UT_hash_handle hh;
	char path[];
};

struct cgroups {
	char *root; /* mount point of cgroup v2, or NULL */
	int root_fd;
	struct cgroup_known *by_id;
};

struct cgroups *cgroups__new(void)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->root = mount__point("cgroup2");
	c->root_fd = c->root ? open(c->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return c;
}

static void cgroup_forget(struct cgroups *c)
{
	struct cgroup_known *k, *next;

	HASH_ITER (hh, c->by_id, k, next) {
		HASH_DEL(c->by_id, k);
		free(k);
	}
}

void cgroups__free(struct cgroups *c)
{
	if (!c)
		return;
	cgroup_forget(c);
	if (c->root_fd >= 0)
		close(c->root_fd);
	free(c->root);
	free(c);
}

/* A handle (O_PATH) of the folder, or -1. */
static int cgroup_open_by_id(const struct cgroups *c, uint64_t id)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} h = { .handle = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };

	memcpy(h.handle.f_handle, &id, sizeof(id));
	return open_by_handle_at(c->root_fd, &h.handle, O_PATH | O_CLOEXEC);
}

/* Asks the kernel for the path. Returns 0, or -1 if it is not below the root. */
static int cgroup_find_path(const struct cgroups *c, uint64_t id, char path[PATH_MAX])
{
	size_t root_len = strlen(c->root);
	int fd = cgroup_open_by_id(c, id);
	char name[40];
	ssize_t len;

	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, PATH_MAX - 1);
	close(fd);
	if (len < 0 || (size_t)len < root_len || memcmp(path, c->root, root_len) != 0)
		return -1;
	path[len] = '\0';
	if (path[root_len])
		memmove(path, path + root_len, (size_t)len - root_len + 1);
	else
		str__copy(path, PATH_MAX, "/");
	return 0;
}

static struct cgroup_known *cgroup_remember(struct cgroups *c, uint64_t id, const char *path)
{
	size_t path_sz = strlen(path) + 1;
	struct cgroup_known *k = malloc(sizeof(*k) + path_sz);

	if (!k)
		return NULL;
	if (HASH_COUNT(c->by_id) >= KNOWN_MAX)
		cgroup_forget(c);
	k->id = id;
	memcpy(k->path, path, path_sz);
	HASH_ADD(hh, c->by_id, id, sizeof(k->id), k);
	if (HASH_ADDED(k))
		return k;
	free(k);
	return NULL;
}

const char *cgroups__path(struct cgroups *c, uint64_t id)
{
	char path[PATH_MAX];
	struct cgroup_known *k;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
	if (!k && c->root_fd >= 0 && cgroup_find_path(c, id, path) == 0)
		k = cgroup_remember(c, id, path);
	return k ? k->path : NULL;
}
