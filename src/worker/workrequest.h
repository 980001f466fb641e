/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request to a worker. */
#ifndef WORKER_WORKREQUEST_H
#define WORKER_WORKREQUEST_H

#include <stdbool.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#include "worker/task.h"

/* Owners of files: WORKER_TRUSTED, or a value of the program's. */
#define WORKER_TRUSTED 0
/* Returns the owner of an untrusted file. A user may claim any owner on its own file system, so the
 * device counts, too. */
static inline uint64_t worker_owner(dev_t dev, uid_t uid)
{
	return ((uint64_t)dev << 32 ^ uid) + 1;
}

/* Returns the user that answers for a file system with files of that owner, or WORKER_NO_USER if it
 * needs no answer: for trusted files, and on disks. A user has its own id, and a range of
 * additional ones (/etc/subuid). */
#define WORKER_NO_USER 0
static inline uint32_t worker_user(uint64_t owner)
{
	uint32_t uid = (uint32_t)(owner - 1);

	if (owner == WORKER_TRUSTED || major((owner - 1) >> 32) != 0)
		return WORKER_NO_USER;
	return 1 + (uid < 65536 ? uid : uid / 65536 * 65536);
}

struct worker_request {
	enum task_kind kind;
	uint64_t owner;	  /* of the file */
	const char *path; /* for messages */
	const void *data; /* at most CHANNEL_PAYLOAD_MAX bytes */
	size_t sz;
	int fd;		   /* borrowed; -1: none */
	size_t answer_max; /* bytes */
	uint64_t late_ns;  /* longest time for an answer; 0: a minute */
	/* Opens another file that the worker wants: returns a descriptor, which is passed on and
	 * closed, or -errno. The bytes are the worker's: they may be forged. NULL: none. */
	int (*open)(const void *what, size_t sz, void *arg);
	/* Checks an answer. Returns false if no working task gives it. */
	bool (*check)(const void *answer, size_t sz, void *arg);
	void *arg;
};

#endif
