// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/perfrecord.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"

#define SAMPLE_ID_SZ 24 /* pid, tid; time; cpu, reserved */
#define IDENTITY_SZ  24 /* of a file in PERF_RECORD_MMAP2 */

#define SURE_BUILD_ID_SZ 16 /* no disk has such a major number */
#define MINOR_BITS	 20

struct body {
	struct cursor c; /* between the header and the sample id */
	uint16_t misc;
};

/*
 * Returns whether these bytes are a build ID: its length, three zeros, the ID, zeros. If another
 * event on the machine requests build IDs, the kernel sets the flag also in records of events that
 * did not (6.18, perf_event_mmap_output()), and a device number may look like a length. The minor
 * number after it, however, has at most 20 bits.
 */
static bool perfrecord_is_build_id(const uint8_t at[IDENTITY_SZ])
{
	static const uint8_t zeros[IDENTITY_SZ];
	uint32_t minor;
	size_t sz = at[0];

	memcpy(&minor, at + 4, sizeof(minor));
	return sz > 0 && sz <= BUILD_ID_MAX && memcmp(at + 1, zeros, 3) == 0 &&
	       memcmp(at + 4 + sz, zeros, BUILD_ID_MAX - sz) == 0 &&
	       (sz >= SURE_BUILD_ID_SZ || minor >> MINOR_BITS);
}

/* Parses a union: a build ID of up to 20 bytes with its length, or device, inode and inode
 * generation. */
static void perfrecord_parse_identity(struct body *b, struct record_mmap *m)
{
	const uint8_t *at = cursor__bytes(&b->c, IDENTITY_SZ);
	struct cursor id;

	if (!at)
		return;
	if ((b->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && perfrecord_is_build_id(at)) {
		m->build_id.sz = at[0];
		memcpy(m->build_id.bytes, at + 4, BUILD_ID_MAX);
		return;
	}
	id = cursor__on(at, IDENTITY_SZ);
	m->maj = cursor__u32(&id);
	m->min = cursor__u32(&id);
	m->ino = cursor__u64(&id);
	m->gen = cursor__u64(&id);
}

/* Parses the common start of both records of mappings. */
static void perfrecord_parse_place(struct body *b, struct record *out)
{
	out->type = RECORD_MMAP;
	out->tgid = cursor__u32(&b->c);
	out->tid = cursor__u32(&b->c);
	out->mmap = (struct record_mmap){ 0 };
	out->mmap.start = cursor__u64(&b->c);
	out->mmap.len = cursor__u64(&b->c);
	out->mmap.pgoff = cursor__u64(&b->c);
}

static void perfrecord_parse_mmap2(struct body *b, struct record *out)
{
	perfrecord_parse_place(b, out);
	perfrecord_parse_identity(b, &out->mmap);
	out->mmap.prot = cursor__u32(&b->c);
	cursor__u32(&b->c); /* MAP_* */
	out->mmap.path = cursor__str(&b->c);
}

static void perfrecord_parse_mmap(struct body *b, struct record *out)
{
	perfrecord_parse_place(b, out);
	out->mmap.prot = b->misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	out->mmap.path = cursor__str(&b->c);
}

static void perfrecord_parse_comm(struct body *b, struct record *out)
{
	out->type = RECORD_COMM;
	out->tgid = cursor__u32(&b->c);
	out->tid = cursor__u32(&b->c);
	out->comm.name = cursor__str(&b->c);
	out->comm.exec = b->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void perfrecord_parse_task(struct body *b, struct record *out)
{
	out->tgid = cursor__u32(&b->c);
	out->fork.parent_tgid = cursor__u32(&b->c);
	out->tid = cursor__u32(&b->c);
	out->fork.parent_tid = cursor__u32(&b->c);
}

static void perfrecord_parse_fork(struct body *b, struct record *out)
{
	perfrecord_parse_task(b, out);
	out->type = RECORD_FORK;
}

static void perfrecord_parse_exit(struct body *b, struct record *out)
{
	perfrecord_parse_task(b, out);
	out->type = RECORD_EXIT;
}

static void perfrecord_parse_lost(struct body *b, struct record *out)
{
	out->type = RECORD_LOST;
	out->tgid = out->tid = 0;
	cursor__u64(&b->c); /* the event's id */
	out->lost.cnt = cursor__u64(&b->c);
}

static void (*const parsers[])(struct body *, struct record *) = {
	[PERF_RECORD_MMAP] = perfrecord_parse_mmap, [PERF_RECORD_MMAP2] = perfrecord_parse_mmap2,
	[PERF_RECORD_COMM] = perfrecord_parse_comm, [PERF_RECORD_FORK] = perfrecord_parse_fork,
	[PERF_RECORD_EXIT] = perfrecord_parse_exit, [PERF_RECORD_LOST] = perfrecord_parse_lost,
};

bool perfrecord__parse_body(const struct perfrecord_body *in, struct record *out)
{
	struct body b = { cursor__on(in->data, in->sz), in->misc };

	if (in->type >= sizeof(parsers) / sizeof(*parsers) || !parsers[in->type])
		return false;
	parsers[in->type](&b, out);
	return !b.c.err;
}

bool perfrecord__parse(const void *data, size_t sz, struct record *out)
{
	struct cursor c = cursor__on(data, sz), id;
	struct perfrecord_body body = { .type = cursor__u32(&c), .misc = cursor__u16(&c) };

	if (cursor__u16(&c) != sz || cursor__left(&c) < SAMPLE_ID_SZ)
		return false;
	body.data = c.pos;
	body.sz = cursor__left(&c) - SAMPLE_ID_SZ;
	id = cursor__on(c.pos + body.sz, SAMPLE_ID_SZ);
	cursor__u64(&id); /* of the writing process: a fork record is about another process */
	out->time_ns = cursor__u64(&id);
	out->cpu = cursor__u32(&id);
	return perfrecord__parse_body(&body, out);
}
