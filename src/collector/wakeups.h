/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wakes the main thread before its poll interval is over: for a signal, for a ring that fills up,
 * for a file that a job has read, and for records of processes. The last are served at once,
 * because a program and its file can vanish within a moment, but at most a hundred times a second.
 */
#ifndef COLLECTOR_WAKEUPS_H
#define COLLECTOR_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

enum wakeup { WAKEUP_SIGNAL = 1 << 0, WAKEUP_RING = 1 << 1, WAKEUP_OTHER = 1 << 2 };

struct wakeups {
	int urgent_fd;	    /* epoll: everything but records of processes */
	int news_fd;	    /* epoll: records of processes, and urgent_fd */
	uint64_t served_ns; /* when records of processes were served last */
};

int wakeups__init(struct wakeups *);   /* 0 or -errno */
void wakeups__close(struct wakeups *); /* also after wakeups__init() failed */
/* Makes wakeups__wait() return `why` when the fd is readable. Returns 0 or -errno. */
int wakeups__watch(struct wakeups *, int fd, enum wakeup);

/* Waits for up to ns nanoseconds. Returns a set of enum wakeup, or 0 after the time and for records
 * of processes. */
unsigned wakeups__wait(struct wakeups *, uint64_t ns);

#endif
