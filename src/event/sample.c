// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/sample.h"

void snapshot__spread(struct snapshot *s, const uint8_t *holes, uint8_t room[SNAPSHOT_ROOM_SZ])
{
	const uint8_t *from = s->bytes;
	uint64_t left = s->sz;

	*s = (struct snapshot){ .addr = s->addr, .bytes = room, .holes = holes };
	for (uint64_t at = 0; left && at < SNAPSHOT_ROOM_SZ - SNAPSHOT_PAGE;) {
		uint64_t sz = SNAPSHOT_PAGE - (s->addr + at) % SNAPSHOT_PAGE;

		if (!snapshot__lacks(s, s->addr + at)) {
			sz = sz < left ? sz : left;
			memcpy(room + at, from, sz);
			from += sz;
			left -= sz;
			s->sz = at + sz;
		}
		at += sz;
	}
}
