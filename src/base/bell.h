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
 * Wakes threads after a change of data that a lock protects, without blocking the caller.
 * pthread_cond_broadcast() waits until threads that were woken before have run. On a busy machine
 * these ordinary threads can take seconds, and the real-time thread that drains the rings would
 * wait with them. Zero-initialized.
 */
struct bell {
	_Atomic uint32_t rung, waiting;
};

/* Call it after the change, with or without the lock. */
static inline void bell__ring(struct bell *b)
{
	atomic_fetch_add(&b->rung, 1);
	if (atomic_load(&b->waiting))
		syscall(SYS_futex, &b->rung, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * Waits until the bell rings or CLOCK_MONOTONIC reaches `until_ns` (UINT64_MAX: no timeout).
 * Releases `lock` while waiting. May wake spuriously; re-check the condition.
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
