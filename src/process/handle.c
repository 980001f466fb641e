// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/handle.h"

#include <stdio.h>

#define OWN_FILES "/proc/self/fd"
#define FLAGS	  (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* To keep the time of access is a fortieth of what the first stacks of a program cost. */
struct own_files own_files__new(void)
{
	return (struct own_files){ .dir = open(OWN_FILES, O_PATH | O_DIRECTORY | O_CLOEXEC),
				   .pid = getpid(),
				   .flags = FLAGS | (geteuid() == 0 ? O_NOATIME : 0) };
}

void own_files__close(struct own_files own)
{
	if (own.dir >= 0)
		close(own.dir);
}

int handle__reopen(int handle, const struct own_files *own)
{
	bool known = own && own->dir >= 0 && own->pid == getpid();
	char name[40] = OWN_FILES "/", *number = name + sizeof(OWN_FILES);
	int fd = -1;

	snprintf(number, sizeof(name) - sizeof(OWN_FILES), "%d", handle);
	if (known)
		fd = openat(own->dir, number, own->flags);
	if (!known || (fd < 0 && errno == EPERM)) /* in a namespace root may not */
		fd = open(name, FLAGS);
	return fd < 0 ? -errno : fd;
}
