// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/wakeups.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"

#define TOGETHER_NS 1000000  /* wake-ups closer than that are served together */
#define NEWS_NS	    10000000 /* between two wake-ups for records of processes */
#define EVENTS_MAX  64

int wakeups__init(struct wakeups *w)
{
	*w = (struct wakeups){ .urgent_fd = epoll_create1(EPOLL_CLOEXEC),
			       .news_fd = epoll_create1(EPOLL_CLOEXEC) };
	if (w->urgent_fd < 0 || w->news_fd < 0)
		return -errno;
	return epoll_ctl(w->news_fd, EPOLL_CTL_ADD, w->urgent_fd,
			 &(struct epoll_event){ .events = EPOLLIN, .data.fd = w->urgent_fd })
		       ? -errno
		       : 0;
}

void wakeups__close(struct wakeups *w)
{
	if (w->urgent_fd >= 0)
		close(w->urgent_fd);
	if (w->news_fd >= 0)
		close(w->news_fd);
	w->urgent_fd = w->news_fd = -1;
}

int wakeups__watch(struct wakeups *w, int fd, enum wakeup why)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = why };

	return epoll_ctl(w->urgent_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int wakeups_to_ms(uint64_t ns)
{
	return (int)((ns + 999999) / 1000000);
}

static unsigned wakeups_wait_urgent(const struct wakeups *w, uint64_t ns)
{
	struct epoll_event events[EVENTS_MAX];
	int cnt = epoll_wait(w->urgent_fd, events, EVENTS_MAX, wakeups_to_ms(ns));
	unsigned why = 0;

	for (int i = 0; i < cnt; i++)
		why |= events[i].data.u32;
	return why;
}

static unsigned wakeups_wait_any(struct wakeups *w, uint64_t ns)
{
	struct epoll_event events[EVENTS_MAX];
	int cnt = epoll_wait(w->news_fd, events, EVENTS_MAX, wakeups_to_ms(ns));
	bool urgent = false;

	for (int i = 0; i < cnt; i++)
		urgent |= events[i].data.fd == w->urgent_fd;
	if (cnt > urgent)
		w->served_ns = monotonic__ns();
	return urgent ? wakeups_wait_urgent(w, 0) : 0;
}

/* Waits while records of processes must not wake: up to NEWS_NS after the last time. */
static unsigned wakeups_wait_quietly(const struct wakeups *w, uint64_t ns)
{
	uint64_t since_ns = monotonic__ns() - w->served_ns;

	if (since_ns >= NEWS_NS)
		return 0;
	return wakeups_wait_urgent(w, NEWS_NS - since_ns < ns ? NEWS_NS - since_ns : ns);
}

unsigned wakeups__wait(struct wakeups *w, uint64_t ns)
{
	uint64_t from_ns = monotonic__ns(), took_ns;
	unsigned why = wakeups_wait_quietly(w, ns);

	took_ns = monotonic__ns() - from_ns;
	if (!why)
		why = wakeups_wait_any(w, took_ns < ns ? ns - took_ns : 0);
	took_ns = monotonic__ns() - from_ns;
	if (why && took_ns < TOGETHER_NS)
		nanosleep(&(struct timespec){ .tv_nsec = (long)(TOGETHER_NS - took_ns) }, NULL);
	return why;
}
