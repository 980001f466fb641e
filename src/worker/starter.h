/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that starts workers. It is forked from the program before that has threads or opens
 * files, leaves the system's namespaces, and forks a worker at each request. It reads nothing but
 * the program's requests, and ends with the program.
 */
#ifndef WORKER_STARTER_H
#define WORKER_STARTER_H

#include <stdint.h>
#include <sys/types.h>

#include "worker/task.h"

struct starter {
	int socket; /* -1: none */
	pid_t pid;
	uint32_t lack; /* enum sandbox_lack */
};

/* Starts it. Returns 0 or -errno. */
int starter__begin(struct starter *, const task_fn functions[TASK_CNT]);
/* Ends it and all workers. Requests fail from then on. */
void starter__stop(struct starter *);
/* Releases it after the last request. */
void starter__end(struct starter *);

/*
 * Starts a worker that serves `socket`, for a file system of this user (worker_user()). Returns its
 * process id in its namespace, or -errno: -EPIPE if the starter has ended; -ETIMEDOUT if the user
 * has too many workers that were killed and have not ended, because a file system does not answer.
 */
pid_t starter__start(struct starter *, int socket, uint32_t user);
/* Kills a worker that has read a file of such a file system. */
void starter__kill(struct starter *, pid_t, uint32_t user);

#endif
