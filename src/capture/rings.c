// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/cpus.h"

int capture__new_rings(struct capture *c)
{
	c->rings = calloc(c->cpu_cnt, sizeof(*c->rings));
	c->streams = calloc(c->cpu_cnt, sizeof(*c->streams));
	c->ring_fds = malloc(c->cpu_cnt * sizeof(*c->ring_fds));
	c->lost = calloc(2 * c->cpu_cnt, sizeof(*c->lost));
	c->online = calloc(c->cpu_cnt, sizeof(*c->online));
	if (!c->rings || !c->streams || !c->ring_fds || !c->lost || !c->online)
		return -ENOMEM;
	for (size_t i = 0; i < c->cpu_cnt; i++) {
		c->ring_fds[i] = -1;
		c->rings[i] = ring__new();
		if (!c->rings[i])
			return -ENOMEM;
		c->streams[i] = ring__stream(c->rings[i]);
	}
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return c->epoll_fd < 0 ? -errno : 0;
}

void capture__free_rings(struct capture *c)
{
	for (size_t i = 0; i < c->cpu_cnt; i++) {
		if (c->rings)
			ring__free(c->rings[i]);
		if (c->ring_fds && c->ring_fds[i] >= 0)
			close(c->ring_fds[i]);
	}
	free(c->rings);
	free(c->streams);
	free(c->ring_fds);
	free(c->lost);
	free(c->online);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
}

/* The map takes it last: from then on the programs write to it. */
static int open_ring(struct capture *c, uint32_t cpu)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.u32 = cpu };
	int err,
		fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "events", 0, 0, c->options.ring_sz, NULL);

	if (fd < 0)
		return -errno;
	c->ring_fds[cpu] = fd;
	err = ring__map(c->rings[cpu], fd, c->options.ring_sz);
	if (!err && epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &e))
		err = -errno;
	if (!err && bpf_map_update_elem(bpf_map__fd(c->skel->maps.rings), &cpu, &fd, BPF_ANY))
		err = -errno;
	return err;
}

int capture__open_rings(struct capture *c)
{
	int err = cpus__online(c->online, c->cpu_cnt);

	for (size_t i = 0; i < c->cpu_cnt && !err; i++) {
		if (c->online[i] && c->ring_fds[i] < 0)
			err = open_ring(c, (uint32_t)i);
	}
	if (err)
		log__error("cannot make a ring of %u bytes for each CPU: %s", c->options.ring_sz,
			   strerror(-err));
	return err;
}

size_t capture__streams(struct capture *c, struct stream *const **streams)
{
	*streams = c->streams;
	return c->cpu_cnt;
}

int capture__epoll_fd(const struct capture *c)
{
	return c->epoll_fd;
}
