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

/* A thread that no signal is delivered to: those are for threads of the program that wait for them.
 * 0 or an errno. */
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

/* One that its maker, or the rings, wait for: see priority__punctual(). */
static inline int thread__start_punctual(pthread_t *thread, void *(*run)(void *), void *arg)
{
	int err = thread__start(thread, run, arg);

	if (!err)
		priority__make_punctual(*thread);
	return err;
}

#endif
