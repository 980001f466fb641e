// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/sideband.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "event/perfrecord.h"
#include "event/perfring.h"

struct channel {
	struct perfring ring;
	int fd;
	void *map;
	size_t map_sz;
};

struct sideband {
	struct channel **channels;
	struct stream **streams;
	size_t cnt;
};

static const struct perf_event_attr request = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(request),
	.config = PERF_COUNT_SW_DUMMY,
	.sample_type = PERFRECORD_SAMPLE_TYPE,
	.disabled = 1,
	.mmap = 1,
	.mmap2 = 1,
	.build_id = 1,
	.comm = 1,
	.comm_exec = 1,
	.task = 1,
	.sample_id_all = 1,
	.use_clockid = 1,
	.clockid = CLOCK_MONOTONIC,
	.watermark = 1,
	.wakeup_watermark = 1,
};

/* Why an event could not be opened, and what to do about it. */
static void complain(int err)
{
	if (err == EACCES || err == EPERM)
		log__error("not permitted to watch what processes do (perf_event_open: %s): run as "
			   "root, "
			   "with CAP_PERFMON, or set the sysctl kernel.perf_event_paranoid to 0",
			   strerror(err));
	else if (err == ENOSYS)
		log__error("this kernel has no perf events (CONFIG_PERF_EVENTS)");
	else
		log__error("perf_event_open: %s", strerror(err));
}

/* Kernels before 5.12 know no build_id: files are told apart by device and inode there. */
static int open_event(int cpu)
{
	struct perf_event_attr attr = request;
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && (errno == EINVAL || errno == E2BIG)) {
		attr.build_id = 0;
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : (int)fd;
}

static void channel__free(struct channel *c)
{
	if (!c)
		return;
	if (c->map)
		munmap(c->map, c->map_sz);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

static struct channel *channel__new(int fd, size_t pages)
{
	size_t page_sz = (size_t)sysconf(_SC_PAGESIZE);
	struct channel *c = calloc(1, sizeof(*c));
	void *map;

	if (!c) {
		close(fd);
		return NULL;
	}
	c->fd = fd;
	c->map_sz = (1 + pages) * page_sz;
	map = mmap(NULL, c->map_sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		int err = errno;

		log__error("a ring of %zu kB for what processes do: %s%s", c->map_sz / 1024,
			   strerror(err),
			   err == EPERM ? "; raise the sysctl kernel.perf_event_mlock_kb" : "");
		channel__free(c);
		return errno = err, NULL;
	}
	c->map = map;
	perfring__init(&c->ring, map, (uint8_t *)map + page_sz, pages * page_sz);
	return c;
}

/* The highest CPU number that the machine can have, from a list such as "0,2-7". */
static int last_cpu(void)
{
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	char list[256] = "";
	ssize_t sz = fd < 0 ? 0 : read(fd, list, sizeof(list) - 1);
	size_t digits = 0;

	if (fd >= 0)
		close(fd);
	while (sz > 0 && (list[sz - 1] < '0' || list[sz - 1] > '9'))
		list[--sz] = '\0';
	while (digits < (size_t)sz && strchr("0123456789", list[(size_t)sz - 1 - digits]))
		digits++;
	return sz > 0 ? (int)strtol(list + (size_t)sz - digits, NULL, 10)
		      : (int)sysconf(_SC_NPROCESSORS_CONF) - 1;
}

/* -ENODEV: the CPU is offline, or no CPU. */
static int add_cpu(struct sideband *s, int cpu, size_t pages)
{
	int fd = open_event(cpu);
	struct channel *c;

	if (fd == -ENODEV || (fd == -EINVAL && s->cnt > 0))
		return -ENODEV;
	if (fd < 0) {
		complain(-fd);
		return fd;
	}
	c = channel__new(fd, pages);
	if (!c)
		return -errno;
	s->channels[s->cnt] = c;
	s->streams[s->cnt++] = &c->ring.stream;
	return 0;
}

struct sideband *sideband__new(size_t pages)
{
	struct sideband *s = calloc(1, sizeof(*s));
	int cpus = last_cpu() + 1, err = 0;

	if (!s)
		return NULL;
	s->channels = calloc((size_t)cpus, sizeof(struct channel *));
	s->streams = calloc((size_t)cpus, sizeof(struct stream *));
	if (!s->channels || !s->streams)
		err = -ENOMEM;
	for (int cpu = 0; cpu < cpus && (err == 0 || err == -ENODEV); cpu++)
		err = add_cpu(s, cpu, pages);
	if (s->cnt > 0 && (err == 0 || err == -ENODEV))
		return s;
	if (err == -ENODEV)
		complain(ENODEV);
	sideband__free(s);
	return errno = -err, NULL;
}

void sideband__free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->cnt; i++)
		channel__free(s->channels[i]);
	free(s->channels);
	free(s->streams);
	free(s);
}

size_t sideband__streams(struct sideband *s, struct stream *const **streams)
{
	*streams = s->streams;
	return s->cnt;
}

int sideband__add_to_epoll(struct sideband *s, int epoll_fd)
{
	for (size_t i = 0; i < s->cnt; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.fd = s->channels[i]->fd };

		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, e.data.fd, &e) != 0)
			return -errno;
	}
	return 0;
}

int sideband__enable(struct sideband *s)
{
	for (size_t i = 0; i < s->cnt; i++)
		if (ioctl(s->channels[i]->fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
			int err = errno;

			complain(err);
			return -err;
		}
	return 0;
}
