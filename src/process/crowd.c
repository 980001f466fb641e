// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/crowd.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/jobs.h"

#define LEVELS_MAX 33 /* user namespaces nest 32 deep */

static bool crowd_same_file(int fd, const struct stat *st)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

/* Takes a user namespace that is not ours. Returns its outermost ancestor below ours. */
static int crowd_outermost(int ns, const struct stat *ours)
{
	for (size_t level = 0; level < LEVELS_MAX; level++) {
		int parent = ioctl(ns, NS_GET_PARENT);

		if (parent < 0)
			break;
		if (crowd_same_file(parent, ours)) {
			close(parent);
			break;
		}
		close(ns);
		ns = parent;
	}
	return ns;
}

/*
 * Reads the real user from the status file. The owner of /proc/PID is no substitute: it is root
 * while the process is not dumpable, and any process can make itself so.
 */
static bool crowd_real_user(int proc, uint32_t tgid, uid_t *uid)
{
	char name[32], text[1024], *line;
	ssize_t got;
	int fd;

	snprintf(name, sizeof(name), "%u/status", tgid);
	fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	line = strstr(text, "\nUid:");
	if (line)
		*uid = (uid_t)strtoul(line + strlen("\nUid:"), NULL, 10);
	return line != NULL;
}

/* Returns false if the process is in our own user namespace, or gone. */
static bool crowd_namespace_owner(int proc, uint32_t tgid, uid_t *owner)
{
	struct stat ours;
	char name[32];
	bool found;
	int ns;

	snprintf(name, sizeof(name), "%u/ns/user", tgid);
	if (stat("/proc/self/ns/user", &ours) != 0)
		return false;
	ns = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return false;
	found = !crowd_same_file(ns, &ours);
	if (found) {
		ns = crowd_outermost(ns, &ours);
		found = ioctl(ns, NS_GET_OWNER_UID, owner) == 0;
	}
	close(ns);
	return found;
}

uint64_t crowd__of(int proc, uint32_t tgid)
{
	uid_t owner;

	if (crowd_namespace_owner(proc, tgid, &owner))
		return (uint64_t)owner + 1;
	if (!crowd_real_user(proc, tgid, &owner))
		return 0;
	return owner == 0 ? JOB_CROWD_ROOT : (uint64_t)owner + 1;
}

uint64_t crowd__lane(int proc, uint32_t tgid)
{
	struct stat st = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "%u/ns/mnt", tgid);
	fstatat(proc, name, &st, 0);
	return 1ull << 63 | (st.st_ino << 32 ^ crowd__of(proc, tgid)) >> 1;
}
