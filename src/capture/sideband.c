// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/sideband.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "event/perfrecord.h"
#include "capture/diagnose.h"
#include "capture/perfring.h"

#define LOOK_NS	    1000000000
#define EVENTS_NAME "records of new processes"

/* The channel of one CPU. While the CPU is offline, fd is -1 and the ring is empty. */
struct channel {
	struct perfring ring;
	int fd;
	void *map;
	size_t map_sz;
};

struct sideband {
	struct channel *channels;
	struct stream **streams;
	bool *online;
	size_t cnt; /* possible CPUs */
	size_t pages;
	int epoll_fd; /* borrowed; -1: none yet */
	bool enabled;
	uint64_t looked_ns;
	struct perf_event_mmap_page idle; /* the control page of empty rings */
	uint64_t nothing;
};

/*
 * Files are identified by device and inode. For one event that requests build IDs (.build_id,
 * since 5.12) the kernel marks the records of other events as if they had one (6.18,
 * perf_event_mmap_output()), and perf up to 6.16 crashes on what it records meanwhile.
 */
static const struct perf_event_attr request = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(request),
	.config = PERF_COUNT_SW_DUMMY,
	.sample_type = PERFRECORD_SAMPLE_TYPE,
	.disabled = 1,
	.mmap = 1,
	.mmap2 = 1,
	.comm = 1,
	.comm_exec = 1,
	.task = 1,
	.sample_id_all = 1,
	.use_clockid = 1,
	.clockid = CLOCK_MONOTONIC,
	.watermark = 1,
	.wakeup_watermark = 1,
};

static int sideband_open_event(int cpu)
{
	struct perf_event_attr attr = request;
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static void channel__close(struct sideband *s, struct channel *c)
{
	if (c->map)
		munmap(c->map, c->map_sz);
	if (c->fd >= 0)
		close(c->fd);
	c->map = NULL;
	c->fd = -1;
	perfring__init(&c->ring, &s->idle, &s->nothing, sizeof(s->nothing));
}

static int sideband_map_ring(struct sideband *s, struct channel *c)
{
	size_t page_sz = (size_t)sysconf(_SC_PAGESIZE);
	void *map;
	int err;

	c->map_sz = (1 + s->pages) * page_sz;
	map = mmap(NULL, c->map_sz, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (map == MAP_FAILED) {
		err = errno;
		log__error("cannot map a ring of %zu kB for events of processes: %s%s",
			   c->map_sz / 1024, strerror(err),
			   err == EPERM ? "; raise the sysctl kernel.perf_event_mlock_kb" : "");
		return -err;
	}
	c->map = map;
	perfring__init(&c->ring, map, (uint8_t *)map + page_sz, s->pages * page_sz);
	return 0;
}

static int sideband_watch(const struct sideband *s, const struct channel *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = c->fd };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, c->fd, &e) ? -errno : 0;
}

static int sideband_enable(const struct channel *c)
{
	int err = ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;

	if (err)
		diagnose__perf_event(err, EVENTS_NAME, 0);
	return err;
}

/* Returns 0 also if the CPU has gone offline again. */
static int channel__open(struct sideband *s, size_t cpu)
{
	struct channel *c = &s->channels[cpu];
	int fd = sideband_open_event((int)cpu), err;

	if (fd == -ENODEV)
		return 0;
	if (fd < 0) {
		diagnose__perf_event(fd, EVENTS_NAME, 0);
		return fd;
	}
	c->fd = fd;
	err = sideband_map_ring(s, c);
	if (!err && s->epoll_fd >= 0)
		err = sideband_watch(s, c);
	if (!err && s->enabled)
		err = sideband_enable(c);
	if (err)
		channel__close(s, c);
	return err;
}

static int sideband_open_channels(struct sideband *s)
{
	int err = cpus__online(s->online, s->cnt);

	for (size_t i = 0; i < s->cnt && !err; i++)
		if (s->online[i])
			err = channel__open(s, i);
	return err;
}

static int sideband_allocate(struct sideband *s)
{
	s->cnt = cpus__possible();
	s->channels = calloc(s->cnt, sizeof(*s->channels));
	s->streams = calloc(s->cnt, sizeof(*s->streams));
	s->online = calloc(s->cnt, sizeof(*s->online));
	if (!s->channels || !s->streams || !s->online)
		return -ENOMEM;
	for (size_t i = 0; i < s->cnt; i++) {
		s->channels[i].fd = -1;
		channel__close(s, &s->channels[i]);
		s->streams[i] = &s->channels[i].ring.stream;
	}
	return 0;
}

struct sideband *sideband__new(size_t pages)
{
	struct sideband *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	s->pages = pages;
	s->epoll_fd = -1;
	err = sideband_allocate(s);
	if (!err)
		err = sideband_open_channels(s);
	if (!err)
		return s;
	sideband__free(s);
	return errno = -err, NULL;
}

void sideband__free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->channels && i < s->cnt; i++)
		channel__close(s, &s->channels[i]);
	free(s->channels);
	free(s->streams);
	free(s->online);
	free(s);
}

size_t sideband__streams(struct sideband *s, struct stream *const **streams)
{
	*streams = s->streams;
	return s->cnt;
}

int sideband__add_to_epoll(struct sideband *s, int epoll_fd)
{
	int err = 0;

	s->epoll_fd = epoll_fd;
	for (size_t i = 0; i < s->cnt && !err; i++)
		if (s->channels[i].fd >= 0)
			err = sideband_watch(s, &s->channels[i]);
	return err;
}

int sideband__enable(struct sideband *s)
{
	int err = 0;

	s->enabled = true;
	for (size_t i = 0; i < s->cnt && !err; i++)
		if (s->channels[i].fd >= 0)
			err = sideband_enable(&s->channels[i]);
	return err;
}

int sideband__update(struct sideband *s)
{
	uint64_t now_ns = monotonic__ns();
	int came = 0;

	if (now_ns - s->looked_ns < LOOK_NS || cpus__online(s->online, s->cnt) != 0)
		return 0;
	s->looked_ns = now_ns;
	for (size_t i = 0; i < s->cnt; i++) {
		struct channel *c = &s->channels[i];

		if (!s->online[i] && c->fd >= 0) /* its event stays dead when the CPU comes back */
			channel__close(s, c);
		else if (s->online[i] && c->fd < 0)
			came += channel__open(s, i) == 0 && c->fd >= 0;
	}
	return came;
}
