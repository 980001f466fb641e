// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/mount.h"

#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/handle.h"

char *mount__point(const char *type)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	char *dir = NULL;

	while (f && !dir && (m = getmntent(f)) != NULL)
		if (strcmp(m->mnt_type, type) == 0)
			dir = strdup(m->mnt_dir);
	if (f)
		endmntent(f);
	return dir;
}

/* Returns the type of the line's file system if it has the device number, else NULL. The kernel
 * writes a space in a name as \040. */
static const char *mount_type_of_device(const char *line, unsigned major, unsigned minor)
{
	const char *end = strstr(line, " - ");
	unsigned maj, min;

	if (!end || sscanf(line, "%*u %*u %u:%u", &maj, &min) != 2 || maj != major || min != minor)
		return NULL;
	return end + 3;
}

bool mount__is_of_admin(const char *mountinfo, unsigned major, unsigned minor)
{
	FILE *f = fopen(mountinfo, "re");
	const char *type = NULL;
	char *line = NULL;
	size_t sz = 0;
	bool is_fuse;

	while (f && !type && getline(&line, &sz, f) > 0)
		type = mount_type_of_device(line, major, minor);
	is_fuse = type && strncmp(type, "fuse", 4) == 0;
	free(line);
	if (f)
		fclose(f);
	return !is_fuse && (type || major);
}

/* Returns the line of the mount through which the file was opened, for the caller to free, or NULL.
 */
static char *mount__line_of(const char *mountinfo, int fd)
{
	struct statx x = { 0 };
	bool known = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) == 0 &&
		     x.stx_mask & STATX_MNT_ID;
	FILE *f = known ? fopen(mountinfo, "re") : NULL;
	uint64_t id;
	char *line = NULL;
	size_t sz = 0;
	bool found = false;

	while (f && !found && getline(&line, &sz, f) > 0)
		found = sscanf(line, "%" SCNu64, &id) == 1 && id == x.stx_mnt_id;
	if (f)
		fclose(f);
	if (found)
		return line;
	free(line);
	return NULL;
}

bool mount__is_here(const char *mountinfo, int fd)
{
	char *line = mount__line_of(mountinfo, fd);
	bool is_here = line;

	free(line);
	return is_here;
}

/* Returns the path below the mount's point, or NULL if it is elsewhere. The kernel writes a space
 * in a name as \040: such points are not found. */
static const char *mount__path_below(const char *point, const char *path)
{
	size_t sz = strcmp(point, "/") == 0 ? 0 : strlen(point);

	if (strncmp(point, path, sz) != 0 || path[sz] != '/')
		return NULL;
	path += sz + strspn(path + sz, "/");
	return *path ? path : ".";
}

static bool mount__is_same(const char *line, int fd)
{
	char *other = mount__line_of("/proc/self/mountinfo", fd);
	bool same = other && strcmp(line, other) == 0;

	free(other);
	return same;
}

int mount__folder_of(int fd, const char *folder)
{
	char *line = mount__line_of("/proc/self/mountinfo", fd), *point = NULL;
	const char *type = line ? strstr(line, " - ") : NULL, *below = NULL;
	int dir = -EXDEV, found = -EXDEV;

	if (type && strncmp(type + 3, "fuse", 4) != 0 &&
	    sscanf(line, "%*u %*u %*s %*s %ms", &point) == 1)
		below = mount__path_below(point, folder);
	if (below)
		dir = handle__open_cached(point);
	if (dir >= 0 && mount__is_same(line, dir))
		found = handle__resolve(dir, below,
					RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS |
						RESOLVE_NO_MAGICLINKS);
	if (dir >= 0)
		close(dir);
	free(point);
	free(line);
	return found;
}
