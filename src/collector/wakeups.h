/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What wakes the thread that reads the rings before its time: an end that is asked for, a ring that
 * fills up, a file that was waited for; and news of processes, which are served at once (a program
 * may be gone in a moment, and its file too), but not more than a hundred times a second.
 */
#ifndef COLLECTOR_WAKEUPS_H
#define COLLECTOR_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

enum wakeup { WAKEUP_SIGNAL = 1 << 0, WAKEUP_RING = 1 << 1, WAKEUP_OTHER = 1 << 2 };

struct wakeups {
	int urgent_fd;	    /* epoll: of all but news */
	int news_fd;	    /* epoll: of news, and of urgent_fd */
	uint64_t served_ns; /* when news were served last */
};

int wakeups__init(struct wakeups *);   /* 0 or -errno */
void wakeups__close(struct wakeups *); /* also after wakeups__init() failed */
/* Wakes when the fd is readable, and says why. 0 or -errno. */
int wakeups__watch(struct wakeups *, int fd, enum wakeup);

/* Up to ns nanoseconds; sooner when something wakes. Returns enum wakeup, 0: it is time, or there
 * are news. */
unsigned wakeups__wait(struct wakeups *, uint64_t ns);

#endif
