/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes without rights that read and parse the files of others. The program opens a file,
 * passes the descriptor, and receives bytes, which it checks. A worker that is late, dies or
 * answers nonsense is killed. Others get the request of a worker that was not late: up to three
 * after wrong answers, up to 15 after deaths, which other processes can cause.
 *
 * A worker never reads files of two owners, so a defect of a parser cannot change what is known
 * about the files of another user.
 */
#ifndef WORKER_WORKERS_H
#define WORKER_WORKERS_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "worker/workrequest.h"

struct workers;

/*
 * Starts the process that forks workers, and a first worker. Call it while this process has one
 * thread. Returns NULL and sets errno (already logged) if workers cannot be confined here.
 */
struct workers *workers__new(const task_fn functions[TASK_CNT]);
struct workers *workers__get(struct workers *); /* takes a reference; NULL gives NULL */
/* The last reference ends all processes. Accepts NULL. */
void workers__put(struct workers *);
/* Ends all processes: requests in progress and later ones fail at once. Accepts NULL. */
void workers__stop(struct workers *);

/*
 * Waits for the answer: as long as the worker uses CPU time, at most a minute; three seconds
 * otherwise. Sets `*answer` (malloc()ed; NULL: an empty answer, or an error) and `*sz`. Returns 0,
 * or the task's error; or, already logged, -ETIMEDOUT if the worker waited for the file for too
 * long, or earlier ones still wait for its user's files; -ETIME if it worked for too long;
 * -ECHILD if workers died or gave wrong answers, or there are none. Any thread may call it.
 */
int workers__request(struct workers *, const struct worker_request *, void **answer, size_t *sz);

/* Returns true if the error says that a worker failed, so that another try makes sense later. */
static inline bool workers__failed(int err)
{
	return err == -ETIMEDOUT || err == -ETIME || err == -ECHILD;
}

struct workers_stats {
	uint64_t started, died, late, refused; /* refused: their answers were wrong */
	uint64_t asked;			       /* requests */
	uint64_t cpu_ns; /* of all workers, but for those that others killed */
};
void workers__stats(struct workers *, struct workers_stats *); /* NULL: sets zeros */

/* Returns what the sandbox of workers lacks: a set of enum sandbox_lack (worker/sandbox.h). */
uint32_t workers__lack(const struct workers *);

/* Returns the id of the process that starts workers. Their parent has this id. 0: none. */
pid_t workers__starter_pid(const struct workers *); /* accepts NULL */

#endif
