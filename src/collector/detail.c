// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/detail.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Interns a string, which has no NUL if it fills its field. */
static uint32_t detail_intern(struct recording *r, const char *s, size_t max)
{
	return recording__string(r, s, strnlen(s, max));
}

static void detail_fill_none(struct row *row, const void *data, size_t sz, struct recording *r)
{
	(void)row, (void)data, (void)sz, (void)r;
}

static void detail_fill_disk(struct row *row, const void *data, size_t sz, struct recording *r)
{
	const struct event_disk *d = data;

	if (sz == sizeof(*d))
		row->device = detail_intern(r, d->name, sizeof(d->name));
}

static void detail_fill_file(struct row *row, const void *data, size_t sz, struct recording *r)
{
	const struct event_file *f = data;

	if (sz < offsetof(struct event_file, name))
		return;
	row->fs = detail_intern(r, f->fs, sizeof(f->fs));
	row->file = detail_intern(r, f->name, sz - offsetof(struct event_file, name));
}

/* Interns "1.2.3.4:80" or "[::1]:80"; null if all bytes are 0, which means unknown. Shows an
 * IPv4-mapped IPv6 address as IPv4. */
static uint32_t detail_intern_endpoint(struct recording *r, uint16_t family, const uint8_t *addr,
				       uint16_t port)
{
	char host[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 16];
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, unknown[16];
	bool v6 = family == AF_INET6 && memcmp(addr, mapped, sizeof(mapped)) != 0;
	int sz;

	if (!port && memcmp(addr, unknown, sizeof(unknown)) == 0)
		return 0;
	if (family == AF_INET6 && !v6)
		addr += sizeof(mapped);
	inet_ntop(v6 ? AF_INET6 : AF_INET, addr, host, sizeof(host));
	sz = snprintf(text, sizeof(text), v6 ? "[%s]:%u" : "%s:%u", host, port);
	return recording__string(r, text, (size_t)sz);
}

static void detail_fill_socket(struct row *row, const void *data, size_t sz, struct recording *r)
{
	const struct event_socket *s = data;

	if (sz != sizeof(*s) || (s->family != AF_INET && s->family != AF_INET6))
		return;
	row->local = detail_intern_endpoint(r, s->family, s->local, s->local_port);
	row->peer = detail_intern_endpoint(r, s->family, s->peer, s->peer_port);
}

/* Fills path and file, which is the last part of the path. */
static void detail_fill_path(struct row *row, const void *data, size_t sz, struct recording *r)
{
	const struct event_path *p = data;
	size_t len, begin;

	if (sz < offsetof(struct event_path, path))
		return;
	len = begin = strnlen(p->path, sz - offsetof(struct event_path, path));
	while (begin && p->path[begin - 1] != '/')
		begin--;
	row->fs = p->fs[0] ? detail_intern(r, p->fs, sizeof(p->fs)) : 0;
	row->path = detail_intern(r, p->path, len);
	row->file = detail_intern(r, p->path + begin, len - begin);
}

static void detail_fill_unix(struct row *row, const void *data, size_t sz, struct recording *r)
{
	const struct event_unix *u = data;

	if (sz != sizeof(*u) || !u->path[0])
		return;
	*(u->is_local ? &row->local : &row->peer) = detail_intern(r, u->path, sizeof(u->path));
}

static void detail_fill_address(struct row *row, const void *data, size_t sz, struct recording *r)
{
	const struct event_address *a = data;

	(void)r;
	if (sz != sizeof(*a))
		return;
	row->address = a->address;
	row->present |= ROW_ADDRESS;
}

static void (*const fillers[])(struct row *, const void *, size_t, struct recording *) = {
	[EVENT_DETAIL_NONE] = detail_fill_none,
	[EVENT_DETAIL_DISK] = detail_fill_disk,
	[EVENT_DETAIL_FILE] = detail_fill_file,
	[EVENT_DETAIL_SOCKET] = detail_fill_socket,
	[EVENT_DETAIL_ADDRESS] = detail_fill_address,
	[EVENT_DETAIL_UNIX] = detail_fill_unix,
	[EVENT_DETAIL_PATH] = detail_fill_path,
	[EVENT_DETAIL_ARGS] = detail_fill_none, /* probeargs.h */
};

void detail__fill(struct row *row, const struct resolved_event *s, struct recording *r)
{
	if (s->event.detail < EVENT_DETAIL_CNT && s->event.detail_sz)
		fillers[s->event.detail](row, s->detail, s->event.detail_sz, r);
}
