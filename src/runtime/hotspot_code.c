// SPDX-License-Identifier: GPL-2.0-or-later
/* The code cache of HotSpot: from an address to the piece of code there (memory/heap.cpp). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hotspot.h"

#define SEGMENT_FREE 0xff
#define HOPS_MAX     65536	/* each is 254 segments of usually 128 bytes */
#define BLOB_SZ_MAX  (1u << 22) /* bytes of code */
#define FRAME_SZ_MAX (1u << 20)
#define NAME_SZ	     64

#define COMPILED_NAME	 "nmethod"
#define NATIVE_NAME	 "native nmethod"
#define INTERPRETER_NAME "Interpreter"

/* The stub that gets the next frames of a virtual thread from the heap: the return barrier. */
#define BARRIER_NAME  "ontinuation"
#define BARRIER_LABEL "(virtual thread: callers on the heap)"

struct heap {
	uint64_t start, end; /* of what is reserved */
	uint64_t map;
	uint32_t shift;
};

static void hotspot_read_heap(struct remote *r, const struct runtime_layout *l, uint64_t at,
			      struct heap *h)
{
	uint64_t memory = at + l->at[JVM_HEAP_MEMORY], map = at + l->at[JVM_HEAP_MAP];

	h->start = hotspot__word(r, l, memory, JVM_SPACE_LOW);
	h->end = hotspot__word(r, l, memory, JVM_SPACE_END);
	h->map = hotspot__word(r, l, map, JVM_SPACE_LOW);
	h->shift = hotspot__u32(r, l, at, JVM_HEAP_SHIFT) & 31;
}

/* Returns how many there are. */
static size_t hotspot_read_heaps(struct remote *r, const struct runtime_layout *l,
				 struct heap heaps[CODE_RANGES_MAX])
{
	uint64_t array = remote__u64(r, l->heaps), data;
	size_t cnt = array ? hotspot__u32(r, l, array, JVM_ARRAY_CNT) : 0;

	if (l->version == JVM_ONE_HEAP) {
		hotspot_read_heap(r, l, array, &heaps[0]);
		return r->err ? 0 : 1;
	}
	cnt = cnt < CODE_RANGES_MAX ? cnt : CODE_RANGES_MAX;
	data = cnt ? hotspot__word(r, l, array, JVM_ARRAY_DATA) : 0;
	for (size_t i = 0; i < cnt; i++)
		hotspot_read_heap(r, l, remote__u64(r, data + 8 * i), &heaps[i]);
	return r->err ? 0 : cnt;
}

int hotspot__read_ranges(struct remote *r, const struct runtime_layout *l, struct code_ranges *out)
{
	struct heap heaps[CODE_RANGES_MAX];

	out->cnt = hotspot_read_heaps(r, l, heaps);
	for (size_t i = 0; i < out->cnt; i++) {
		out->at[i].start = heaps[i].start;
		out->at[i].end = heaps[i].end;
	}
	return out->cnt ? 0 : -EAGAIN;
}

/* ---- one piece ----------------------------------------------------------------------------------
 */

/* Each segment has the distance of one hop towards the start of its block. Returns 0 if there is
 * no block. */
static uint64_t hotspot_code_find_block(struct remote *r, const struct heap *h, uint64_t pc)
{
	uint64_t segment = (pc - h->start) >> h->shift;
	uint8_t back = remote__u8(r, h->map + segment);

	for (size_t i = 0; back && i < HOPS_MAX; i++) {
		if (back == SEGMENT_FREE || back > segment || r->err)
			return 0;
		segment -= back;
		back = remote__u8(r, h->map + segment);
	}
	return r->err || back ? 0 : h->start + (segment << h->shift);
}

/* Returns the address of the CodeBlob at a place, or 0. */
static uint64_t hotspot_code_find_blob(struct remote *r, const struct runtime_layout *l,
				       uint64_t pc)
{
	struct heap heaps[CODE_RANGES_MAX];
	size_t cnt = hotspot_read_heaps(r, l, heaps);
	uint64_t block, blob;

	for (size_t i = 0; i < cnt; i++) {
		if (pc < heaps[i].start || pc >= heaps[i].end)
			continue;
		block = hotspot_code_find_block(r, &heaps[i], pc);
		if (!block || !remote__u8(r, block + l->at[JVM_BLOCK_USED]))
			return 0;
		blob = block + l->at[JVM_BLOCK_SZ];
		return pc - blob < hotspot__u32(r, l, blob, JVM_BLOB_SZ) ? blob : 0;
	}
	return 0;
}

static enum code_kind hotspot_code_kind_of(const char *name)
{
	if (strcmp(name, COMPILED_NAME) == 0)
		return CODE_COMPILED;
	if (strcmp(name, NATIVE_NAME) == 0)
		return CODE_NATIVE;
	if (strcmp(name, INTERPRETER_NAME) == 0)
		return CODE_INTERPRETER;
	return strstr(name, BARRIER_NAME) ? CODE_BARRIER : CODE_STUB;
}

static void hotspot_read_code_range(struct remote *r, const struct runtime_layout *l,
				    struct code_blob *b)
{
	int16_t complete = (int16_t)hotspot__u32(r, l, b->header, JVM_BLOB_COMPLETE);
	uint32_t words = hotspot__u32(r, l, b->header, JVM_BLOB_FRAME);

	b->start = l->at[JVM_BLOB_BEGIN] != JVM_NONE
			   ? hotspot__word(r, l, b->header, JVM_BLOB_BEGIN)
			   : b->header + hotspot__u32(r, l, b->header, JVM_BLOB_CODE);
	b->end = b->header + hotspot__u32(r, l, b->header, JVM_BLOB_DATA);
	b->complete =
		complete > 0 && (uint64_t)complete < b->end - b->start ? (uint32_t)complete : 0;
	b->frame_sz = words <= FRAME_SZ_MAX / 8 ? words * 8 : 0;
	b->handlers = CODE_NOWHERE;
}

static int hotspot_read_nmethod(struct remote *r, const struct runtime_layout *l,
				struct code_blob *b)
{
	uint32_t stubs = hotspot__u32(r, l, b->header, JVM_NMETHOD_STUBS);
	int err;

	if (b->kind == CODE_COMPILED && b->header + stubs > b->start)
		b->handlers = (uint32_t)(b->header + stubs - b->start);
	b->orig_pc = hotspot__u32(r, l, b->header, JVM_NMETHOD_ORIG_PC);
	err = code_blob__read(b, r);
	return err ? err : hotspot__read_scopes(r, l, b);
}

static int hotspot_code_read_kind(struct remote *r, const struct runtime_layout *l,
				  struct code_blob *b)
{
	char name[NAME_SZ] = "";

	remote__text(r, hotspot__word(r, l, b->header, JVM_BLOB_NAME), name, sizeof(name));
	b->kind = hotspot_code_kind_of(name);
	if (b->kind == CODE_COMPILED || b->kind == CODE_NATIVE) {
		b->id = hotspot__u32(r, l, b->header, JVM_NMETHOD_ID);
		return 0;
	}
	return code_blob__name(b, l->runtime->name, l->runtime->unknown.module,
			       b->kind == CODE_BARRIER ? BARRIER_LABEL : name);
}

static bool hotspot_code_is_same(const struct code_blob *b, const struct code_wanted *w)
{
	return b->header == w->header && b->id == w->id &&
	       (b->kind == CODE_COMPILED || b->kind == CODE_NATIVE);
}

int hotspot__read_code(struct remote *r, const struct runtime_layout *l,
		       const struct code_wanted *w, struct code_blob *b)
{
	int err;

	b->header = hotspot_code_find_blob(r, l, w->pc);
	if (!b->header)
		return -ENOENT;
	err = hotspot_code_read_kind(r, l, b);
	if (!err && hotspot_code_is_same(b, w) && !r->err)
		return -EALREADY;
	hotspot_read_code_range(r, l, b);
	if (!err && (w->pc < b->start || w->pc >= b->end || b->end - b->start > BLOB_SZ_MAX))
		return -ENOENT;
	if (!err && (b->kind == CODE_COMPILED || b->kind == CODE_NATIVE))
		err = hotspot_read_nmethod(r, l, b);
	return err ? err : r->err ? -EFAULT : 0;
}
