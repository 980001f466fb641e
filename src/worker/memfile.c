// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/writeall.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int memfile_create(void)
{
	int fd = memfd_create("stacks-worker", MEMFILE_FLAGS);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("stacks-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

int memfile__make(const struct memfile_part *parts, size_t cnt)
{
	int fd = memfile_create(), err = 0;

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < cnt && !err; i++)
		err = write_all(fd, parts[i].data, parts[i].sz);
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) != 0)
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Returns the size, or -errno. Huge pages and files of other file systems are refused. */
static off_t memfile_size(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstatfs(fd, &fs) != 0 ||
	    fs.f_type != TMPFS_MAGIC || fstat(fd, &st) != 0 || st.st_size <= 0)
		return -EPROTO;
	return st.st_size;
}

static int memfile_copy(int fd, char *to, size_t sz)
{
	size_t at = 0;

	while (at < sz) {
		ssize_t n = pread(fd, to + at, sz - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		at += (size_t)n;
	}
	return 0;
}

void *memfile__read(int fd, size_t max_sz, size_t *sz)
{
	off_t total = memfile_size(fd);
	char *copy;
	int err;

	if (total < 0)
		return errno = (int)-total, NULL;
	if ((uint64_t)total > max_sz)
		return errno = EFBIG, NULL;
	copy = malloc((size_t)total);
	if (!copy)
		return NULL;
	err = memfile_copy(fd, copy, (size_t)total);
	if (err) {
		free(copy);
		return errno = -err, NULL;
	}
	*sz = (size_t)total;
	return copy;
}
