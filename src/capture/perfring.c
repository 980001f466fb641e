// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/perfring.h"

#include <string.h>

#include "event/perfrecord.h"

static void perfring_begin(struct stream *s)
{
	struct perfring *r = (struct perfring *)s;

	r->head = __atomic_load_n(&r->ctl->data_head, __ATOMIC_ACQUIRE);
}

/* Returns `sz` bytes at the tail in one piece. */
static const void *perfring_at_tail(struct perfring *r, size_t sz)
{
	size_t off = r->tail & (r->sz - 1);
	size_t first = r->sz - off < sz ? r->sz - off : sz;

	if (first == sz)
		return r->data + off;
	memcpy(r->straight, r->data + off, first);
	memcpy(r->straight + first, r->data, sz - first);
	return r->straight;
}

/* Returns the size of the record at the tail, 0 if there is none. An impossible size ends the
 * round. */
static size_t perfring_size_at_tail(struct perfring *r)
{
	struct perf_event_header h;

	if (r->head - r->tail < sizeof(h))
		return 0;
	memcpy(&h, perfring_at_tail(r, sizeof(h)), sizeof(h));
	if (h.size >= sizeof(h) && h.size <= r->head - r->tail && h.size <= r->sz)
		return h.size;
	r->tail = r->head;
	return 0;
}

static uint64_t perfring_peek(struct stream *s)
{
	struct perfring *r = (struct perfring *)s;
	size_t sz;

	if (r->record_sz)
		return r->record.time_ns;
	while ((sz = perfring_size_at_tail(r)) > 0) {
		if (perfrecord__parse(perfring_at_tail(r, sz), sz, &r->record) &&
		    r->record.time_ns != STREAM_EMPTY) {
			r->record_sz = sz;
			return r->record.time_ns;
		}
		r->tail += sz;
	}
	return STREAM_EMPTY;
}

static void perfring_next(struct stream *s, record_fn fn, void *arg)
{
	struct perfring *r = (struct perfring *)s;

	if (!r->record_sz)
		return;
	fn(&r->record, arg);
	r->tail += r->record_sz;
	r->record_sz = 0;
}

static void perfring_end(struct stream *s)
{
	struct perfring *r = (struct perfring *)s;

	__atomic_store_n(&r->ctl->data_tail, r->tail, __ATOMIC_RELEASE);
}

void perfring__init(struct perfring *r, struct perf_event_mmap_page *ctl, const void *data,
		    size_t sz)
{
	r->stream = (struct stream){ .begin = perfring_begin,
				     .peek = perfring_peek,
				     .next = perfring_next,
				     .end = perfring_end };
	r->ctl = ctl;
	r->data = data;
	r->sz = sz;
	r->head = r->tail = ctl->data_tail;
	r->record_sz = 0;
}
