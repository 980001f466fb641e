// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/perfbuildid.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"

#define HAS_SIZE  (1u << 15) /* in misc: the record has the size of the ID */
#define FIELD_SZ  24	     /* the ID, its size and padding */
#define PATHS_MAX 65536

struct perf_build_id {
	struct build_id id;
	UT_hash_handle hh;
	char path[];
};

void perf_build_ids__free(struct perf_build_ids *ids)
{
	struct perf_build_id *b, *next;

	HASH_ITER (hh, ids->by_path, b, next) {
		HASH_DEL(ids->by_path, b);
		free(b);
	}
}

static struct perf_build_id *perfbuildid_find(const struct perf_build_ids *ids, const char *path)
{
	struct perf_build_id *b;

	HASH_FIND_STR(ids->by_path, path, b);
	return b;
}

static bool perfbuildid_differs(const struct build_id *a, const struct build_id *b)
{
	return a->sz != b->sz || memcmp(a->bytes, b->bytes, a->sz) != 0;
}

/* Adds a build ID. If two files had this path, for example one in a container, discards both IDs:
 * neither is reliable. */
static void perfbuildid_add(struct perf_build_ids *ids, const struct build_id *id, const char *path)
{
	struct perf_build_id *b = perfbuildid_find(ids, path);
	size_t sz = strlen(path) + 1;

	if (b && perfbuildid_differs(&b->id, id))
		b->id.sz = 0;
	if (b || sz > PATH_MAX || HASH_COUNT(ids->by_path) == PATHS_MAX)
		return;
	b = calloc(1, sizeof(*b) + sz);
	if (!b)
		return;
	b->id = *id;
	memcpy(b->path, path, sz);
	HASH_ADD_STR(ids->by_path, path, b);
	if (!HASH_ADDED(b))
		free(b);
}

static void perfbuildid_add_record(struct perf_build_ids *ids, struct cursor c, uint16_t misc)
{
	struct build_id id = { .sz = BUILD_ID_MAX };
	const uint8_t *field;
	const char *path;

	cursor__u32(&c); /* pid, which denotes the machine: host or guest */
	field = cursor__bytes(&c, FIELD_SZ);
	path = cursor__str(&c);
	if (!field || !path || path[0] != '/')
		return;
	if (misc & HAS_SIZE)
		id.sz = field[BUILD_ID_MAX];
	if (id.sz == 0 || id.sz > BUILD_ID_MAX)
		return;
	memcpy(id.bytes, field, id.sz);
	perfbuildid_add(ids, &id, path);
}

void perf_build_ids__add(struct perf_build_ids *ids, const uint8_t *data, size_t sz)
{
	struct cursor c = cursor__on(data, sz);

	while (cursor__left(&c) >= 8) {
		uint16_t misc, record_sz;
		const uint8_t *body;

		cursor__u32(&c);
		misc = cursor__u16(&c);
		record_sz = cursor__u16(&c);
		body = record_sz >= 8 ? cursor__bytes(&c, record_sz - 8u) : NULL;
		if (!body)
			return;
		perfbuildid_add_record(ids, cursor__on(body, record_sz - 8u), misc);
	}
}

const struct build_id *perf_build_ids__find(const struct perf_build_ids *ids, const char *path)
{
	const struct perf_build_id *b = perfbuildid_find(ids, path);

	return b && b->id.sz ? &b->id : NULL;
}
