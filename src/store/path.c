// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int path_checked(int fd)
{
	return fd < 0 ? -errno : fd;
}

int path__own(int fd, mode_t mode, const struct path_owner *owner)
{
	static const char *const lists[] = { "system.posix_acl_access",
					     "system.posix_acl_default" };

	if (fchown(fd, owner->uid, owner->gid) != 0)
		return -errno;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (fremovexattr(fd, lists[i]) != 0 && errno != ENODATA && errno != EOPNOTSUPP &&
		    errno != EACCES)
			return -errno;
	return fchmod(fd, mode) != 0 ? -errno : 0;
}

static int path_make(int parent, const char *name, mode_t mode, const struct path_owner *owner)
{
	struct stat st;
	int fd, err = 0;

	if (mkdirat(parent, name, 0700) != 0)
		return -errno;
	fd = path_checked(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	if (fd < 0)
		return fd;
	/* A user with write access to the parent may have replaced the folder. */
	if (fstat(fd, &st) != 0)
		err = -errno;
	else if (st.st_uid != geteuid())
		err = -EPERM;
	else
		err = path__own(fd, mode, owner);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int path__make(int parent, const char *name, const struct path_owner *owner)
{
	return path_make(parent, name, 0750, owner);
}

static int path_make_parent(int parent, const char *name)
{
	struct path_owner owner;
	struct stat st;

	if (fstat(parent, &st) != 0)
		return -errno;
	owner = (struct path_owner){ st.st_uid, st.st_gid };
	/* Only root can change owners. */
	if (geteuid() != 0)
		owner = (struct path_owner){ geteuid(), getegid() };
	return path_make(parent, name, 0755, &owner);
}

static int path_enter(int parent, const char *name, const struct path_owner *owner)
{
	int fd = path_checked(openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) != 0 ? -errno : 0;
	if (!err && S_ISDIR(st.st_mode))
		return fd;
	close(fd);
	if (err)
		return err;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != owner->uid)
		return -ELOOP;
	return path_checked(openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Copies the next name of the path and moves after it. Returns false at the end. */
static bool path_next_name(const char **path, char name[NAME_MAX + 1], int *err)
{
	size_t len;

	*path += strspn(*path, "/");
	len = strcspn(*path, "/");
	if (len > NAME_MAX)
		*err = -ENAMETOOLONG;
	if (!len || *err)
		return false;
	memcpy(name, *path, len);
	name[len] = '\0';
	*path += len;
	return true;
}

static int path_descend(const char *path, const struct path_owner *owner, bool last_is_parent)
{
	int at = path_checked(open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	char name[NAME_MAX + 1];
	int err = 0, next;

	if (!*path)
		err = -ENOENT;
	while (at >= 0 && path_next_name(&path, name, &err)) {
		bool last = path[strspn(path, "/")] == '\0';

		next = path_enter(at, name, owner);
		if (next == -ENOENT)
			next = last && !last_is_parent ? path__make(at, name, owner)
						       : path_make_parent(at, name);
		if (next == -EEXIST) /* another process has created it */
			next = path_enter(at, name, owner);
		close(at);
		at = next;
	}
	if (at < 0)
		return at;
	next = err ? err : path_checked(openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	close(at);
	return next;
}

int path__open(const char *path, const struct path_owner *owner)
{
	return path_descend(path, owner, false);
}

int path__open_parent(const char *path, const struct path_owner *owner)
{
	return path_descend(path, owner, true);
}
