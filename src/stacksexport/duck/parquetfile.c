// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/parquetfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

int parquet_file__unreadable(const char *path, int err)
{
	struct passwd *owner;
	struct stat st;

	if (err != -EACCES && err != -EPERM) {
		log__error("cannot read %s: %s", path, strerror(-err));
		return err;
	}
	owner = stat(path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
	log__error("cannot read %s: %s; it belongs to %s: run as that user or with sudo", path,
		   strerror(-err), owner ? owner->pw_name : "another user");
	return err;
}

/* Returns what is wrong with a Parquet file. It begins and ends with PAR1; the last eight bytes
 * also contain the length of its footer. */
static const char *parquet_problem(int fd, off_t sz)
{
	unsigned char head[4], tail[8];
	uint32_t footer;

	if (sz < 12 || pread(fd, head, 4, 0) != 4 || memcmp(head, "PAR1", 4) != 0)
		return sz == 0 ? "it is empty" : "not a Parquet file";
	if (pread(fd, tail, 8, sz - 8) != 8 || memcmp(tail + 4, "PAR1", 4) != 0)
		return "it is truncated: its footer is missing";
	footer = tail[0] | tail[1] << 8 | tail[2] << 16 | (uint32_t)tail[3] << 24;
	return footer > (uint64_t)sz - 12 ? "it is damaged: its footer is larger than the file"
					  : NULL;
}

int parquet_file__check(const char *path, const char **problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return parquet_file__unreadable(path, err);
	}
	*problem = S_ISREG(st.st_mode) ? parquet_problem(fd, st.st_size) : "not a regular file";
	close(fd);
	return *problem ? -EBADMSG : 0;
}
