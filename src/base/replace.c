// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/replace.h"
#include "base/writeall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP ".new"

/* Exchanges the files if `path` exists: before a rename over a file, ext4 writes the data to the
 * disk, which takes twice the CPU time. If `path` cannot be unlinked (a folder), the exchange is
 * undone. */
static int replace_put_in_place(const char *temp, const char *path)
{
	int err;

	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE))
		return rename(temp, path) ? -errno : 0;
	if (!unlink(temp))
		return 0;
	err = -errno;
	renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE);
	return err;
}

int replace__file(const char *path, const void *data, size_t sz)
{
	char temp[PATH_MAX];
	int fd, err;

	if ((size_t)snprintf(temp, sizeof(temp), "%s" TEMP, path) >= sizeof(temp))
		return -ENAMETOOLONG;
	unlink(temp); /* left by a killed process */
	/* Creates a new file: a FIFO would block, and the owner of an existing file could change
	 * our data. */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = write_all(fd, data, sz);
	if (close(fd) && !err)
		err = -errno;
	if (!err)
		err = replace_put_in_place(temp, path);
	if (err)
		unlink(temp);
	return err;
}
