/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles that name a file (O_PATH) and open nothing: a FIFO cannot block us, no device notices. */
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

/* >= 0 or -errno, as the next. */
static inline int handle__open(const char *path)
{
	return handle__resolve(AT_FDCWD, path, RESOLVE_NO_MAGICLINKS);
}

/* `path` as it is seen where `root` is the root folder: a symbolic link leads nowhere but into it.
 */
static inline int handle__below(int root, const char *path)
{
	return handle__resolve(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/*
 * What stat(2) says of a file's identity and owner, as far as the kernel knows it by itself: a
 * server that does not answer cannot block us. 0 or -errno.
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

/* Where this process finds its open files by number: one that opens many walks through /proc once.
 */
struct own_files {
	int dir;   /* -1: every time */
	pid_t pid; /* whose they are: a child has others */
	int flags; /* for open(2) */
};

struct own_files own_files__new(void);
void own_files__close(struct own_files);

/*
 * What a handle names, for reading. O_NONBLOCK, because a lease on the file would hold us up for
 * 45 s. With `own` it is found sooner, and root's reads leave no time of access; NULL: neither. >=
 * 0 or -errno.
 */
int handle__reopen(int handle, const struct own_files *own);

/* Whether a file's last change was at that time. */
static inline bool handle__changed_at(const struct stat *st, struct timespec time)
{
	return st->st_ctim.tv_sec == time.tv_sec && st->st_ctim.tv_nsec == time.tv_nsec;
}

#endif
