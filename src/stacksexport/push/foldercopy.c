// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/push/foldercopy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/writeall.h"
#include "stacksexport/outfile.h"

static int foldercopy_copy_bytes(int from, int to)
{
	char piece[1 << 16];
	off_t off = 0;
	ssize_t n;
	int err = 0;

	while (!err && (n = pread(from, piece, sizeof(piece), off)) > 0) {
		err = write_all(to, piece, (size_t)n);
		off += n;
	}
	if (!err && n < 0)
		err = -errno;
	if (!err && fsync(to) != 0)
		err = -errno;
	return err;
}

static int foldercopy_copy_to(int fd, const char *temp, const char *path)
{
	int to = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	int err = to < 0 ? -errno : foldercopy_copy_bytes(fd, to);

	if (to >= 0 && close(to) != 0 && !err)
		err = -errno;
	if (!err && rename(temp, path) != 0)
		err = -errno;
	if (err)
		unlink(temp);
	return err;
}

/* A folder that is not mounted any more must not be made on the disk below it. */
static int foldercopy_copy_file(const char *folder, int fd, const char *name)
{
	const char *slash = strrchr(name, '/');
	char *path = NULL, *parent = NULL, *temp = NULL;
	int err = -ENOMEM;

	if (access(folder, W_OK | X_OK) != 0)
		return -errno;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		path = NULL;
	if (path && asprintf(&parent, "%s/%.*s", folder, (int)(slash ? slash - name : 0), name) < 0)
		parent = NULL;
	if (parent && asprintf(&temp, "%s/.%s.new", parent, slash ? slash + 1 : name) < 0)
		temp = NULL;
	if (temp)
		err = outfile__make_dirs(parent);
	if (temp && !err)
		err = foldercopy_copy_to(fd, temp, path);
	free(temp);
	free(parent);
	free(path);
	return err;
}

int folder_copy__file(const char *folder, int fd, const char *name)
{
	int err = foldercopy_copy_file(folder, fd, name);

	if (!err)
		return 0;
	log__warn("cannot write %s/%s: %s", folder, name, strerror(-err));
	return -EAGAIN;
}
