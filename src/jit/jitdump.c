// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jitdump.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "symbol/demangle.h"

#define MAGIC	      0x4a695444
#define VERSION	      1
#define HEADER_SZ     40
#define HEADER_SZ_MAX 4096
#define ARCH_TIMES    1 /* flag: times are a counter of the processor */
#define PREFIX_SZ     16

#define CHUNK_SZ 65536
/* The part of a record that is used: the fixed part of a load, and the name. */
#define HEAD_SZ (56 + SYMBOL_NAME_MAX)

enum record_id { CODE_LOAD, CODE_MOVE, UNWINDING_INFO = 4 };

/* A record's prefix, and those of its bytes that fit. */
struct record_head {
	uint32_t id, sz;
	uint64_t time_ns;
	struct cursor rest;
};

/* Returns -EAGAIN if it is not complete. */
static int jitdump_read_header(struct code_progress *d, int fd, uint64_t file_sz)
{
	uint8_t bytes[HEADER_SZ] = { 0 };
	struct cursor c = cursor__on(bytes, sizeof(bytes));
	uint32_t sz;

	if (file_sz < HEADER_SZ)
		return -EAGAIN;
	if (pread(fd, bytes, sizeof(bytes), 0) != HEADER_SZ)
		return -EIO;
	if (cursor__u32(&c) != MAGIC || cursor__u32(&c) != VERSION)
		return -EBADMSG;
	sz = cursor__u32(&c);
	if (sz < HEADER_SZ || sz > HEADER_SZ_MAX)
		return -EBADMSG;
	d->machine = (uint16_t)cursor__u32(&c);
	cursor__bytes(&c, 16); /* padding, pid, time */
	d->untimed = cursor__u64(&c) & ARCH_TIMES;
	if (file_sz < sz)
		return -EAGAIN;
	d->off = sz;
	return 0;
}

/* Data for the next loaded function; valid as long as the chunk. */
struct pending {
	const uint8_t *frames;
	size_t frames_sz;
	uint32_t record_sz;
};

/*
 * .eh_frame has .eh_frame_hdr after it, or before it: the specification and V8 differ.
 * .eh_frame_hdr begins with its version, 1, and encodings; a CIE begins with its length, and its
 * id, 0.
 */
static void jitdump_unwinding_info(struct record_head *r, struct pending *p)
{
	uint64_t sz = cursor__u64(&r->rest), hdr_sz = cursor__u64(&r->rest);
	const uint8_t *at;

	cursor__bytes(&r->rest, 8); /* size that the process has mapped */
	at = r->rest.pos;
	if (r->rest.err || sz > cursor__left(&r->rest) || hdr_sz >= sz)
		return;
	if (hdr_sz > 1 && at[0] == 1 && at[1] == 0x1b)
		at += hdr_sz;
	*p = (struct pending){ at, sz - hdr_sz, r->sz };
}

static void jitdump_load(const struct code_progress *d, struct record_head *r,
			 const struct pending *p, struct code_list *l)
{
	struct code c = { .time_ns = d->untimed ? 0 : r->time_ns,
			  .frames = p->frames,
			  .frames_sz = p->frames_sz };
	char name[SYMBOL_NAME_MAX];
	size_t sz;

	cursor__bytes(&r->rest, 8); /* pid, tid */
	c.start = cursor__u64(&r->rest);
	cursor__bytes(&r->rest, 8); /* original address of the code */
	c.sz = cursor__u64(&r->rest);
	cursor__bytes(&r->rest, 8); /* index */
	if (r->rest.err)
		return;
	sz = strnlen((const char *)r->rest.pos, cursor__left(&r->rest) < sizeof(name)
							? cursor__left(&r->rest)
							: sizeof(name) - 1);
	memcpy(name, r->rest.pos, sz);
	name[sz] = '\0';
	c.name = name;
	code_list__add(l, &c);
}

static void jitdump_move(const struct code_progress *d, struct record_head *r, struct code_list *l)
{
	struct code c = { .time_ns = d->untimed ? 0 : r->time_ns };
	uint64_t from;

	cursor__bytes(&r->rest, 16); /* pid, tid, vma */
	from = cursor__u64(&r->rest);
	c.start = cursor__u64(&r->rest);
	c.sz = cursor__u64(&r->rest);
	if (!r->rest.err)
		code_list__move(l, from, &c);
}

/* Reads the head of a record that ends at most `left` bytes away; .sz is 0 if it is incomplete. */
static int jitdump_next_record(const uint8_t *at, size_t have, uint64_t left, struct record_head *r)
{
	struct cursor c = cursor__on(at, have);

	r->id = cursor__u32(&c);
	r->sz = cursor__u32(&c);
	r->time_ns = cursor__u64(&c);
	if (c.err || (r->sz >= PREFIX_SZ && r->sz > left)) {
		r->sz = 0;
		return 0;
	}
	if (r->sz < PREFIX_SZ)
		return -EBADMSG;
	r->rest = cursor__on(c.pos, (r->sz < have ? r->sz : have) - PREFIX_SZ);
	return 0;
}

static void jitdump_add_record(const struct code_progress *d, struct record_head *r,
			       struct pending *p, struct code_list *l)
{
	const struct pending before = *p;

	if (r->id == CODE_LOAD || r->id == UNWINDING_INFO)
		*p = (struct pending){ 0 };
	if (r->id == CODE_LOAD)
		jitdump_load(d, r, &before, l);
	if (r->id == CODE_MOVE)
		jitdump_move(d, r, l);
	if (r->id == UNWINDING_INFO)
		jitdump_unwinding_info(r, p);
}

/* Returns the bytes that must be available from here on: call-frame information belongs to the
 * function that follows it. */
static size_t jitdump_wanted(const uint8_t *at, size_t have)
{
	struct cursor c = cursor__on(at, have);
	uint32_t id = cursor__u32(&c), sz = cursor__u32(&c);

	if (id != UNWINDING_INFO || sz > CHUNK_SZ - HEAD_SZ)
		return HEAD_SZ;
	return sz + HEAD_SZ;
}

/* Adds the records of a chunk that starts `left` bytes before the end of the file, until the list
 * is full. Returns their bytes (the last record may extend past the chunk), and sets `*err`. */
static uint64_t jitdump_add_records(const struct code_progress *d, struct cursor chunk,
				    uint64_t left, struct code_list *l, int *err)
{
	const uint8_t *at = chunk.pos;
	struct pending p = { 0 };
	uint64_t done = 0, last = 0;
	size_t have = cursor__left(&chunk);

	while (done < have && (p.frames || !code_list__is_full(l)) &&
	       (have == left || have - done >= jitdump_wanted(at + done, have - done))) {
		struct record_head r;

		*err = jitdump_next_record(at + done, have - done, left - done, &r);
		if (*err || r.sz == 0)
			break;
		jitdump_add_record(d, &r, &p, l);
		last = r.sz;
		done += r.sz;
	}
	/* Data of a function that is not complete yet is read again with it. */
	return p.frames && last == p.record_sz ? done - last : done;
}

/* Adds the records of the next chunk. Returns their bytes, and sets `*err`. */
static uint64_t jitdump_add_chunk(const struct code_progress *d, const struct code_part *part,
				  struct code_list *l, int *err)
{
	uint64_t left = part->end - d->off;
	uint8_t bytes[CHUNK_SZ];
	ssize_t got = pread(part->fd, bytes, left < CHUNK_SZ ? left : CHUNK_SZ, (off_t)d->off);

	if (got < 0)
		*err = -errno;
	return got > 0 ? jitdump_add_records(d, cursor__on(bytes, (size_t)got), left, l, err) : 0;
}

int jitdump__read(struct code_progress *d, const struct code_part *part, struct code_list *l)
{
	int err = d->off == 0 ? jitdump_read_header(d, part->fd, part->end) : 0;
	uint64_t done = 1;

	while (!err && done > 0 && d->off < part->until && d->off < part->end &&
	       !code_list__is_full(l)) {
		done = jitdump_add_chunk(d, part, l, &err);
		d->off += done;
	}
	return err == -EAGAIN ? 0 : err;
}
