/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_OPENFILES_H
#define BASE_OPENFILES_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#define OPENFILES_ROOM 16384

/* The kernel's table grows now, not later: then, with other threads, who opens a file waits for all
 * CPUs (a grace period of RCU), on a busy machine a second. */
static inline void openfiles__make_room(rlim_t cnt)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	int last = fcntl(fd, F_DUPFD_CLOEXEC, (int)cnt - 1);

	if (last >= 0)
		close(last);
	if (fd >= 0)
		close(fd);
}

/* As many open files as may be: a program that looks into all programs keeps theirs open. To be
 * called before there are threads. */
static inline void openfiles__raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) == 0)
		openfiles__make_room(files.rlim_max < OPENFILES_ROOM ? files.rlim_max
								     : OPENFILES_ROOM);
}

/* What one of those may have of them who keep files open, but no more than `most`. */
static inline size_t openfiles__share(size_t most)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 4 > most)
		return most;
	return files.rlim_cur / 4;
}

#endif
