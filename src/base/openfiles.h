/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_OPENFILES_H
#define BASE_OPENFILES_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#define OPENFILES_ROOM 16384

/* Grows the kernel's table of files now. Later, in a process with several threads, opening a file
 * would wait for all CPUs (an RCU grace period), which takes a second on a busy machine. */
static inline void openfiles__make_room(rlim_t cnt)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	int last = fcntl(fd, F_DUPFD_CLOEXEC, (int)cnt - 1);

	if (last >= 0)
		close(last);
	if (fd >= 0)
		close(fd);
}

/* Raises the limit of open files to its maximum: a program that reads all programs keeps their
 * files open. Call it before threads are created. */
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

/* Returns the number of files that one component may keep open: a quarter of the limit, at most
 * `most`. */
static inline size_t openfiles__share(size_t most)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 4 > most)
		return most;
	return files.rlim_cur / 4;
}

#endif
