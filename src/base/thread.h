/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/priority.h"

/* Returns the thread's id. glibc has gettid() only since 2.30; the programs run with 2.28. */
static inline pid_t thread__tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Starts a thread that receives no signals: they are for the program's threads that wait for them.
 * Returns 0 or an errno. */
static inline int thread__start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Starts a thread that its creator, or the draining of rings, waits for: see priority__punctual().
 */
static inline int thread__start_punctual(pthread_t *thread, void *(*run)(void *), void *arg)
{
	int err = thread__start(thread, run, arg);

	if (!err)
		priority__make_punctual(*thread);
	return err;
}

#endif
