/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_BELL_H
#define BASE_BELL_H

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Tells other threads that what a lock protects has changed, and holds up nobody who does.
 * pthread_cond_broadcast() waits until those that were woken before have run: on a busy machine
 * they are ordinary threads that take seconds to, and the real-time thread that drains the rings
 * waited with the load. All zeros is one that nobody has rung.
 */
struct bell {
	_Atomic uint32_t rung, waiting;
};

/* After the change, with or without the lock. */
static inline void bell__ring(struct bell *b)
{
	atomic_fetch_add(&b->rung, 1);
	if (atomic_load(&b->waiting))
		syscall(SYS_futex, &b->rung, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * With the lock, which it gives up meanwhile: until the bell is rung, or until CLOCK_MONOTONIC is
 * until_ns (UINT64_MAX: for ever). It may return early; who waits looks again.
 */
static inline void bell__wait(struct bell *b, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = { (time_t)(until_ns / 1000000000),
					(long)(until_ns % 1000000000) };
	uint32_t heard = atomic_load(&b->rung);

	atomic_fetch_add(&b->waiting, 1);
	pthread_mutex_unlock(lock);
	syscall(SYS_futex, &b->rung, FUTEX_WAIT_BITSET_PRIVATE, heard,
		until_ns == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
	atomic_fetch_sub(&b->waiting, 1);
	pthread_mutex_lock(lock);
}

#endif
