// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/perfrecord.h"

#include <linux/perf_event.h>
#include <string.h>
#include "base/cursor.h"

#define SAMPLE_ID_SZ 24 /* pid, tid; time; cpu, reserved */
#define IDENTITY_SZ  24 /* of a file in PERF_RECORD_MMAP2 */

struct body {
	struct cursor c; /* between the header and the sample id */
	uint16_t misc;
};

/* A union: of 20 bytes for a build ID with its length, or device, inode and its generation. */
static void parse_identity(struct body *b, struct record_mmap *m)
{
	const void *at = cursor__bytes(&b->c, IDENTITY_SZ);
	struct cursor id;

	if (!at)
		return;
	id = cursor__on(at, IDENTITY_SZ);
	if (b->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		m->build_id.sz = cursor__u8(&id);
		if (m->build_id.sz > BUILD_ID_MAX)
			b->c.err = true;
		cursor__bytes(&id, 3);
		memcpy(m->build_id.bytes, cursor__bytes(&id, BUILD_ID_MAX), BUILD_ID_MAX);
		return;
	}
	m->maj = cursor__u32(&id);
	m->min = cursor__u32(&id);
	m->ino = cursor__u64(&id);
}

static void parse_mmap2(struct body *b, struct record *out)
{
	out->type = RECORD_MMAP;
	out->tgid = cursor__u32(&b->c);
	out->tid = cursor__u32(&b->c);
	out->mmap = (struct record_mmap){ 0 };
	out->mmap.start = cursor__u64(&b->c);
	out->mmap.len = cursor__u64(&b->c);
	out->mmap.pgoff = cursor__u64(&b->c);
	parse_identity(b, &out->mmap);
	out->mmap.prot = cursor__u32(&b->c);
	cursor__u32(&b->c); /* MAP_* */
	out->mmap.path = cursor__str(&b->c);
}

static void parse_comm(struct body *b, struct record *out)
{
	out->type = RECORD_COMM;
	out->tgid = cursor__u32(&b->c);
	out->tid = cursor__u32(&b->c);
	out->comm.name = cursor__str(&b->c);
	out->comm.exec = b->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void parse_task(struct body *b, struct record *out)
{
	out->tgid = cursor__u32(&b->c);
	out->fork.parent_tgid = cursor__u32(&b->c);
	out->tid = cursor__u32(&b->c);
	out->fork.parent_tid = cursor__u32(&b->c);
}

static void parse_fork(struct body *b, struct record *out)
{
	parse_task(b, out);
	out->type = RECORD_FORK;
}

static void parse_exit(struct body *b, struct record *out)
{
	parse_task(b, out);
	out->type = RECORD_EXIT;
}

static void parse_lost(struct body *b, struct record *out)
{
	out->type = RECORD_LOST;
	out->tgid = out->tid = 0;
	cursor__u64(&b->c); /* the event's id */
	out->lost.cnt = cursor__u64(&b->c);
}

static void (*const parsers[])(struct body *, struct record *) = {
	[PERF_RECORD_MMAP2] = parse_mmap2, [PERF_RECORD_COMM] = parse_comm,
	[PERF_RECORD_FORK] = parse_fork,   [PERF_RECORD_EXIT] = parse_exit,
	[PERF_RECORD_LOST] = parse_lost,
};

bool perfrecord__parse(const void *data, size_t sz, struct record *out)
{
	struct cursor c = cursor__on(data, sz), id;
	uint32_t type = cursor__u32(&c);
	struct body b = { .misc = cursor__u16(&c) };

	if (cursor__u16(&c) != sz || cursor__left(&c) < SAMPLE_ID_SZ ||
	    type >= sizeof(parsers) / sizeof(*parsers) || !parsers[type])
		return false;
	b.c = cursor__on(c.pos, cursor__left(&c) - SAMPLE_ID_SZ);
	id = cursor__on(b.c.end, SAMPLE_ID_SZ);
	cursor__u64(&id); /* who wrote it: for a fork not whom it is about */
	out->time_ns = cursor__u64(&id);
	out->cpu = cursor__u32(&id);
	parsers[type](&b, out);
	return !b.c.err;
}
