/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_WRITEALL_H
#define BASE_WRITEALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Writes all bytes to `fd`, also after signals. Returns 0 or -errno; some bytes may then have been
 * written. */
static inline int write_all(int fd, const void *data, size_t sz)
{
	const char *at = data;

	while (sz) {
		ssize_t n = write(fd, at, sz);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		sz -= (size_t)n;
	}
	return 0;
}

#endif
