/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles that name a file (O_PATH) without opening it: a FIFO cannot block, and a device is not
 * affected. */
#ifndef BASE_HANDLE_H
#define BASE_HANDLE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static inline int handle__resolve(int root, const char *path, uint64_t rules)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = rules };
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Return a descriptor, or -errno. */
static inline int handle__open(const char *path)
{
	return handle__resolve(AT_FDCWD, path, RESOLVE_NO_MAGICLINKS);
}

/* Resolves `path` with `root` as the root folder: symbolic links cannot leave it. */
static inline int handle__below(int root, const char *path)
{
	return handle__resolve(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/*
 * Like handle__open(), but looks names up only in the kernel's memory, which has the names of files
 * that are open on disks. Returns -EAGAIN if a file system would have to answer, which may hang.
 * Also returns it at a folder that another user owns and with rights for a group, until the kernel
 * has read the folder's access-control list: the owner's own look-ups do not read it.
 */
static inline int handle__open_cached(const char *path)
{
	return handle__resolve(AT_FDCWD, path, RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED);
}

/*
 * Like fstatat(2), limited to identity and owner, and to what the kernel has cached: a server that
 * does not answer cannot block it. Returns 0 or -errno.
 */
static inline int handle__stat(int dir, const char *name, struct stat *st)
{
	struct statx x;

	if (statx(dir, name, AT_STATX_DONT_SYNC | (*name ? 0 : AT_EMPTY_PATH), STATX_BASIC_STATS,
		  &x) != 0)
		return -errno;
	*st = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_uid = x.stx_uid,
		.st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}

/* The folder in which this process finds its open files by number, so that many opens look up /proc
 * only once. */
struct own_files {
	int dir;   /* -1: looked up each time */
	pid_t pid; /* the owner: a child has other files */
	int flags; /* for open(2) */
};

struct own_files own_files__new(void);
void own_files__close(struct own_files);

/*
 * Opens the file that a handle names for reading. Uses O_NONBLOCK, because a lease on the file
 * would block for 45 s. `own` makes the look-up faster, and keeps root's reads from changing the
 * access time; it may be NULL. Returns a descriptor, or -errno.
 */
int handle__reopen(int handle, const struct own_files *own);

/* Returns whether a file's last change was at that time. */
static inline bool handle__changed_at(const struct stat *st, struct timespec time)
{
	return st->st_ctim.tv_sec == time.tv_sec && st->st_ctim.tv_nsec == time.tv_nsec;
}

#endif
