// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/handle.h"

#include <string.h>

#define OWN_FILES "/proc/self/fd"
#define FLAGS	  (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Keeping the access time unchanged saves a fortieth of the time for a program's first stacks. */
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

/* Prints the number so that its last digit is right before `end`. */
static char *handle_print_number(char *end, unsigned number)
{
	*end = '\0';
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

int handle__reopen(int handle, const struct own_files *own)
{
	bool known = own && own->dir >= 0 && own->pid == getpid();
	char path[40], *number = handle_print_number(path + sizeof(path) - 1, (unsigned)handle);
	int fd = -1;

	if (known)
		fd = openat(own->dir, number, own->flags);
	/* in a user namespace, root may not use O_NOATIME */
	if (!known || (fd < 0 && errno == EPERM)) {
		number -= sizeof(OWN_FILES);
		memcpy(number, OWN_FILES "/", sizeof(OWN_FILES));
		fd = open(number, FLAGS);
	}
	return fd < 0 ? -errno : fd;
}
