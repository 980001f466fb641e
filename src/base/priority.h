/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_PRIORITY_H
#define BASE_PRIORITY_H

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#define PRIORITY_NICE -15 /* without real-time scheduling */

#define PRIORITY_POLICY (SCHED_RR | SCHED_RESET_ON_FORK)

static const struct sched_param priority_lowest = { .sched_priority = 1 };

/*
 * For a thread that must not queue behind the load: rings fill in milliseconds. Niceness alone
 * works only within one login session if the scheduler groups by session (sched_autogroup_enabled).
 * A real-time thread that runs a few per cent of the time does not disturb others. Threads that it
 * creates are ordinary. Has no effect without the privilege.
 */
static inline void priority__punctual(void)
{
	setpriority(PRIO_PROCESS, 0, PRIORITY_NICE);
	sched_setscheduler(0, PRIORITY_POLICY, &priority_lowest);
}

/*
 * Like priority__punctual(), for a thread that has just been created. The creator calls it: the
 * ordinary thread would first have to get a CPU, and it starts on its creator's. Without the
 * privilege the thread keeps its creator's niceness.
 */
static inline void priority__make_punctual(pthread_t thread)
{
	pthread_setschedparam(thread, PRIORITY_POLICY, &priority_lowest);
}

/* Called first by a thread that only works ahead, because it inherits its creator's priority. */
static inline void priority__ordinary(void)
{
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

/*
 * Gives a thread the caller's priority, permanently: on a busy machine a thread that the caller
 * waits for must not queue behind the load. tid 0: the thread has not started; does nothing. Has no
 * effect without the privilege.
 */
static inline void priority__lend(pid_t tid)
{
	setpriority(PRIO_PROCESS, (id_t)tid, getpriority(PRIO_PROCESS, 0));
}

/* A lock between threads of different priority: the holder inherits the priority of the waiters. */
static inline void priority__init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

#endif
