// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/capture_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/cpus.h"
#include "base/thread.h"

int capture__new_rings(struct capture *c)
{
	c->rings = calloc(c->cpu_cnt, sizeof(*c->rings));
	c->streams = calloc(c->cpu_cnt, sizeof(*c->streams));
	c->ring_fds = malloc(c->cpu_cnt * sizeof(*c->ring_fds));
	c->lost = calloc(2 * c->cpu_cnt, sizeof(*c->lost));
	c->bad = calloc(c->cpu_cnt, sizeof(*c->bad));
	c->online = calloc(c->cpu_cnt, sizeof(*c->online));
	if (!c->rings || !c->streams || !c->ring_fds || !c->lost || !c->bad || !c->online)
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
	free(c->bad);
	free(c->online);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
}

/* ---- rings of CPUs that are online and have none --------------------------------------------- */

/* New CPUs and their maps, each of which is a kernel map. */
struct coming {
	uint32_t *cpus;
	int *rings, *scratches;
	uint32_t cnt;
};

static int coming__init(struct coming *n, size_t cpu_cnt)
{
	*n = (struct coming){ .cpus = calloc(cpu_cnt, sizeof(*n->cpus)),
			      .rings = calloc(cpu_cnt, sizeof(*n->rings)),
			      .scratches = calloc(cpu_cnt, sizeof(*n->scratches)) };
	return n->cpus && n->rings && n->scratches ? 0 : -ENOMEM;
}

/* The rings stay open; the capture owns them. */
static void coming__free(struct coming *n)
{
	for (uint32_t i = 0; i < n->cnt; i++) {
		if (n->scratches[i] >= 0)
			close(n->scratches[i]);
	}
	free(n->cpus);
	free(n->rings);
	free(n->scratches);
}

/* Creates a ring, and slots in which the programs assemble events of up to one stack each. CPUs
 * that are never online have none; a virtual machine may have many of them. */
static int rings_open_maps(struct capture *c, uint32_t cpu, struct coming *n)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.u32 = cpu };
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "events", 0, 0, c->options.ring_sz, NULL);
	int scratch, err;

	if (ring < 0)
		return -errno;
	c->ring_fds[cpu] = ring;
	scratch = bpf_map_create(BPF_MAP_TYPE_ARRAY, "scratch", sizeof(uint32_t), c->slot_sz,
				 CAPTURE_LEVELS, NULL);
	if (scratch < 0)
		return -errno;
	n->cpus[n->cnt] = cpu;
	n->rings[n->cnt] = ring;
	n->scratches[n->cnt++] = scratch;
	err = ring__map(c->rings[cpu], ring, c->options.ring_sz);
	if (!err && epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, ring, &e))
		err = -errno;
	return err;
}

/* Updates in one call: after each call the kernel waits until no program runs that has seen the old
 * contents, about 10 ms. Kernels before 5.16 take the entries one by one. */
static int rings_put_maps(const struct bpf_map *into, const struct coming *n, const int *maps)
{
	int fd = bpf_map__fd(into), err = 0;
	uint32_t cnt = n->cnt;

	if (!cnt || !bpf_map_update_batch(fd, n->cpus, maps, &cnt, NULL))
		return 0;
	for (uint32_t i = 0; i < n->cnt && !err; i++)
		err = bpf_map_update_elem(fd, &n->cpus[i], &maps[i], BPF_ANY) ? -errno : 0;
	return err;
}

/* Puts the rings in last, because from then on the programs write to them. */
static int open_rings(struct capture *c)
{
	struct coming n;
	int err = coming__init(&n, c->cpu_cnt);

	if (!err)
		err = cpus__online(c->online, c->cpu_cnt);
	for (size_t i = 0; i < c->cpu_cnt && !err; i++) {
		if (c->online[i] && c->ring_fds[i] < 0)
			err = rings_open_maps(c, (uint32_t)i, &n);
	}
	if (!err)
		err = rings_put_maps(c->skel->maps.scratch, &n, n.scratches);
	if (!err)
		err = rings_put_maps(c->skel->maps.rings, &n, n.rings);
	coming__free(&n);
	return err;
}

static int rings_say(const struct capture *c, int err)
{
	if (err)
		log__error("cannot make a ring of %u bytes and %u slots of %u for each CPU: %s",
			   c->options.ring_sz, CAPTURE_LEVELS, c->slot_sz, strerror(-err));
	return err;
}

int capture__open_rings(struct capture *c)
{
	return rings_say(c, open_rings(c));
}

/* ---- while the programs are loaded ------------------------------------------------------------
 */

/* Creates the map of maps that libbpf would create while it loads, so that it can be filled before
 * then. Its inner maps are like the declared one, but with values of `inner_value_sz` bytes. The
 * declared one keeps its size: bpf_map__set_value_size() of an inner map crashes in libbpf >= 1.4,
 * which reads the map's object, and an inner map has none. */
static int rings_make_outer(struct bpf_map *map, uint32_t inner_value_sz)
{
	const struct bpf_map *inner = bpf_map__inner_map(map);
	int like = bpf_map_create(bpf_map__type(inner), NULL, bpf_map__key_size(inner),
				  inner_value_sz, bpf_map__max_entries(inner), NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)like);
	int fd = like < 0 ? -1
			  : bpf_map_create(bpf_map__type(map), bpf_map__name(map),
					   bpf_map__key_size(map), bpf_map__value_size(map),
					   bpf_map__max_entries(map), &opts);
	int err = fd < 0 ? -errno : bpf_map__reuse_fd(map, fd);

	if (like >= 0)
		close(like);
	if (fd >= 0)
		close(fd);
	return err;
}

static void *rings_open_first(void *arg)
{
	struct capture *c = arg;

	c->opened_err = open_rings(c);
	return NULL;
}

int capture__begin_rings(struct capture *c)
{
	int err = rings_make_outer(c->skel->maps.scratch, c->slot_sz);

	if (!err)
		err = rings_make_outer(c->skel->maps.rings, 0);
	if (!err)
		err = -thread__start_punctual(&c->opener, rings_open_first, c);
	return err;
}

int capture__end_rings(struct capture *c, int load_err)
{
	pthread_join(c->opener, NULL);
	return load_err ? load_err : rings_say(c, c->opened_err);
}

/* ---- to read them -----------------------------------------------------------------------------
 */

size_t capture__streams(struct capture *c, struct stream *const **streams)
{
	*streams = c->streams;
	return c->cpu_cnt;
}

int capture__epoll_fd(const struct capture *c)
{
	return c->epoll_fd;
}

void capture__woken(struct capture *c)
{
	struct epoll_event woken[64];

	while (epoll_wait(c->epoll_fd, woken, 64, 0) == 64)
		;
}
