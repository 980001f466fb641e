/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_PRIORITY_H
#define BASE_PRIORITY_H

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#define PRIORITY_NICE -15 /* without real time */

#define PRIORITY_POLICY (SCHED_RR | SCHED_RESET_ON_FORK)

static const struct sched_param priority_lowest = { .sched_priority = 1 };

/*
 * For a thread that must not queue behind the load: rings fill in milliseconds. Nice alone counts
 * within one login session only where the scheduler groups by session (sched_autogroup_enabled); a
 * real-time thread that works some per cent of the time is in nobody's way. The threads that it
 * makes are ordinary. Without the privilege it stays as it is.
 */
static inline void priority__punctual(void)
{
	setpriority(PRIO_PROCESS, 0, PRIORITY_NICE);
	sched_setscheduler(0, PRIORITY_POLICY, &priority_lowest);
}

/*
 * The same for a thread that has just been made. By who made it: as an ordinary one it would have
 * to get a CPU first, and the one that it begins on is its maker's. Without the privilege it stays
 * as it is: it has its maker's niceness then.
 */
static inline void priority__make_punctual(pthread_t thread)
{
	pthread_setschedparam(thread, PRIORITY_POLICY, &priority_lowest);
}

/* A thread that only works ahead begins with it: it inherits the priority of who makes it. */
static inline void priority__ordinary(void)
{
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

/*
 * Gives a thread the caller's priority, for good: on a busy machine who is waited for must not
 * queue behind the load that the caller does not queue behind. tid 0: it has not begun, nothing
 * happens. Without the privilege it stays as it was.
 */
static inline void priority__lend(pid_t tid)
{
	setpriority(PRIO_PROCESS, (id_t)tid, getpriority(PRIO_PROCESS, 0));
}

/* A lock between threads of different priority: who holds it has that of whom it holds up. */
static inline void priority__init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

#endif
