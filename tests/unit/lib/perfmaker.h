/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handmade records of the perf ABI. */
#ifndef UNIT_PERFMAKER_H
#define UNIT_PERFMAKER_H

#include <linux/perf_event.h>
#include <string.h>

#include "base/buf.h"

static inline void perfmaker__begin(struct buf *b, uint32_t type, uint16_t misc)
{
	buf__reset(b);
	buf__u32(b, type);
	buf__u32(b, misc); /* and the size, set later */
}

/* Adds the sample id (written by thread 2 of process 1, on CPU 3) and sets the size. */
static inline void perfmaker__end(struct buf *b, uint64_t time_ns)
{
	uint16_t sz;

	while (b->sz % 8)
		buf__u8(b, 0);
	buf__u32(b, 1);
	buf__u32(b, 2);
	buf__u64(b, time_ns);
	buf__u32(b, 3);
	buf__u32(b, 0);
	sz = (uint16_t)b->sz;
	memcpy(b->data + 6, &sz, sizeof(sz));
}

static inline void perfmaker__text(struct buf *b, const char *s)
{
	buf__append(b, s, strlen(s) + 1);
}

static inline void perfmaker__comm(struct buf *b, uint64_t time_ns, const char *name)
{
	perfmaker__begin(b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	buf__u32(b, 10);
	buf__u32(b, 11);
	perfmaker__text(b, name);
	perfmaker__end(b, time_ns);
}

#define PERFMAKER_INODE 1234567

static inline void perfmaker__inode(struct buf *b, uint32_t maj, uint32_t min, uint64_t generation)
{
	buf__u32(b, maj);
	buf__u32(b, min);
	buf__u64(b, PERFMAKER_INODE);
	buf__u64(b, generation);
}

/* With a build ID of `id_sz` bytes; 0: with device and inode. */
static inline void perfmaker__mmap2(struct buf *b, uint64_t time_ns, uint8_t id_sz,
				    const char *path)
{
	perfmaker__begin(b, PERF_RECORD_MMAP2, id_sz ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	buf__u32(b, 10);
	buf__u32(b, 11);
	buf__u64(b, 0x7f0000001000);
	buf__u64(b, 0x2000);
	buf__u64(b, 0x3000);
	if (id_sz) {
		buf__u32(b, id_sz);
		for (int i = 0; i < 20; i++)
			buf__u8(b, i < id_sz ? (uint8_t)(0xa0 + i) : 0);
	} else {
		perfmaker__inode(b, 8, 1, 42);
	}
	buf__u32(b, 5);
	buf__u32(b, 2);
	perfmaker__text(b, path);
	perfmaker__end(b, time_ns);
}

static inline void perfmaker__task(struct buf *b, uint64_t time_ns, uint32_t type)
{
	perfmaker__begin(b, type, 0);
	for (uint32_t id = 20; id < 24; id++)
		buf__u32(b, id); /* pid, parent, tid, parent's */
	buf__u64(b, time_ns + 1);
	perfmaker__end(b, time_ns);
}

static inline void perfmaker__lost(struct buf *b, uint64_t time_ns, uint64_t cnt)
{
	perfmaker__begin(b, PERF_RECORD_LOST, 0);
	buf__u64(b, 99);
	buf__u64(b, cnt);
	perfmaker__end(b, time_ns);
}

#endif
