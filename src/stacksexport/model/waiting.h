/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the function in which a thread waits, and whether it waits for work.
 *
 * The scheduler's own functions are on top of every wait, so are glibc 2.41's for each blocking
 * call. What a program called to wait is the last function of libc below them (`call`). The
 * function that explains the wait (`waits_in`) is the first outside of libc, of the C++ library and
 * of the runtime's scheduler, and below what a program has for any kind of wait (XactLockTableWait
 * of PostgreSQL, and not WaitLatch). One without a name is skipped if a caller has one.
 *
 * A thread waits for work
 *   - in a function of a known runtime or program in which its idle threads wait,
 *   - called by a known loop, which also calls the functions that work,
 *   - in a call that only loops make: epoll_wait, accept, sigwait; or to wait for a child or a
 *     thread to end,
 *   - in a condition variable, a semaphore, a futex or poll() that at most two functions separate
 *     from the thread's root;
 * and not where one of the functions is known to wait for a lock, a timer or another process.
 */
#ifndef STACKSEXPORT_MODEL_WAITING_H
#define STACKSEXPORT_MODEL_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAITING_NONE SIZE_MAX

/* Indices of frames, leaf first. */
struct waiting {
	size_t call;	 /* WAITING_NONE: no function counts */
	size_t waits_in; /* the innermost frame that counts; WAITING_NONE: the stack is empty */
	bool is_idle;
};

/* Takes the traits of the functions of a stack (model/waittraits.h), leaf first. Of the frames from
 * .waits_in on those count that do not have WAIT_SCHEDULES, and .waits_in itself. */
struct waiting waiting__find(const uint16_t *traits, size_t cnt);

#endif
