/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of a jitdump. */
#ifndef JITDUMP_SCENE_H
#define JITDUMP_SCENE_H

#include <string.h>

#include "base/buf.h"

static inline void put_header(struct buf *b, uint64_t flags)
{
	buf__u32(b, 0x4a695444);
	buf__u32(b, 1);
	buf__u32(b, 40);
	buf__u32(b, 62);
	buf__u32(b, 0);
	buf__u32(b, 1);
	buf__u64(b, 5);
	buf__u64(b, flags);
}

static inline void put_prefix(struct buf *b, uint32_t id, uint32_t sz, uint64_t time_ns)
{
	buf__u32(b, id);
	buf__u32(b, sz);
	buf__u64(b, time_ns);
}

static inline void put_load(struct buf *b, const char *name, uint64_t addr, uint64_t time_ns)
{
	put_prefix(b, 0, (uint32_t)(56 + strlen(name) + 1 + 16), time_ns);
	buf__u64(b, 1); /* pid, tid */
	buf__u64(b, addr);
	buf__u64(b, addr);
	buf__u64(b, 16);
	buf__u64(b, 1);
	buf__append(b, name, strlen(name) + 1);
	buf__append(b, "0123456789abcdef", 16);
}

static inline void put_frames(struct buf *b, const char *hdr, const char *frames, bool hdr_first)
{
	size_t sz = strlen(hdr) + strlen(frames);

	put_prefix(b, 4, (uint32_t)(40 + sz + 3), 9);
	buf__u64(b, sz);
	buf__u64(b, strlen(hdr));
	buf__u64(b, 0);
	buf__str(b, hdr_first ? hdr : frames);
	buf__str(b, hdr_first ? frames : hdr);
	buf__append(b, "\0\0\0", 3); /* V8's padding */
}

#endif
