/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_PRIORITY_H
#define BASE_PRIORITY_H

#include <sys/resource.h>
#include <sys/types.h>

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

#endif
