// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BEGIN_SZ 512 /* bytes of a stack: its red zone and the first frames */
#define SIZE_MASK      ((uint32_t) ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT))

struct ring {
	struct stream stream; /* first: the stream is the ring */
	struct ring_area area;
	uint64_t pos;	    /* everything before it has been read */
	uint64_t published; /* the read position that was last published to the producer */
	uint64_t limit;	    /* the end of this round */
	uint64_t bad;
	void *maps[2]; /* set by ring__map() */
	size_t map_sz[2];
};

/* Returns a record's header: its length with two flags. The page offset in it is for the kernel. */
static uint32_t ring_header_at(const struct ring *r, uint64_t pos)
{
	const uint8_t *at = r->area.data + (pos & (r->area.sz - 1));

	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static uint64_t ring_record_sz(uint32_t header)
{
	return ((uint64_t)(header & SIZE_MASK) + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
}

static bool ring_event_fits(const struct event *e, uint32_t sz)
{
	uint64_t header_sz = 0, before;

	if (sz < sizeof(*e) || e->kstack_sz % sizeof(uint64_t) || e->detail_sz % sizeof(uint64_t))
		return false;
	if (e->flags & EVENT_F_SWITCHED)
		header_sz = sizeof(struct event_switched);
	before = event__sz_before_switched(e) + header_sz;
	if (before > sz || event__sz_before_runtime(e) < before) /* the sum overflowed */
		return false;
	return event__sz(e) == sz;
}

/* Prefetches what is read first, because another CPU wrote it. */
static void ring_prefetch_event(const struct event *e)
{
	for (size_t off = 0; off < sizeof(*e) + STACK_BEGIN_SZ; off += 64)
		__builtin_prefetch((const char *)e + off);
}

/* Returns the next complete and valid event; NULL if this round has none. */
static const struct event *ring_event_next(struct ring *r)
{
	while (r->pos < r->limit) {
		uint32_t header = ring_header_at(r, r->pos), sz = header & SIZE_MASK;
		const void *e = r->area.data + (r->pos & (r->area.sz - 1)) + BPF_RINGBUF_HDR_SZ;

		if (header & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		if (ring_record_sz(header) > r->limit - r->pos) {
			r->bad++;
			r->pos = r->limit;
			return NULL;
		}
		if (!(header & BPF_RINGBUF_DISCARD_BIT) && ring_event_fits(e, sz))
			return e;
		r->bad += !(header & BPF_RINGBUF_DISCARD_BIT);
		r->pos += ring_record_sz(header);
	}
	return NULL;
}

static struct ring *ring__of(struct stream *s)
{
	return (struct ring *)(void *)s;
}

static void ring__begin(struct stream *s)
{
	struct ring *r = ring__of(s);

	if (r->area.sz)
		r->limit = __atomic_load_n(r->area.producer_pos, __ATOMIC_ACQUIRE);
	if (r->limit - r->pos > r->area.sz) /* no ring holds more than its size */
		r->limit = r->pos;
}

static uint64_t ring__peek(struct stream *s)
{
	const struct event *e = ring_event_next(ring__of(s));

	return e ? e->time_ns : STREAM_EMPTY;
}

static void ring_publish(struct ring *r)
{
	if (r->pos != r->published)
		__atomic_store_n(r->area.consumer_pos, r->pos, __ATOMIC_RELEASE);
	r->published = r->pos;
}

static void ring__next(struct stream *s, record_fn fn, void *arg)
{
	struct ring *r = ring__of(s);
	const struct event *e = ring_event_next(r);
	struct record record;
	uint64_t next;

	if (!e)
		return;
	next = r->pos + ring_record_sz(ring_header_at(r, r->pos));
	__builtin_prefetch(r->area.data + (next & (r->area.sz - 1)));
	ring_prefetch_event(e);
	record = (struct record){ .type = RECORD_SAMPLE,
				  .time_ns = e->time_ns,
				  .tgid = e->tgid,
				  .tid = e->tid,
				  .cpu = e->cpu,
				  .event = e };
	fn(&record, arg);
	r->pos = next;
}

static void ring__end(struct stream *s)
{
	ring_publish(ring__of(s));
}

struct ring *ring__new(void)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (r)
		r->stream = (struct stream){ .begin = ring__begin,
					     .peek = ring__peek,
					     .next = ring__next,
					     .end = ring__end };
	return r;
}

void ring__free(struct ring *r)
{
	for (int i = 0; r && i < 2; i++) {
		if (r->maps[i])
			munmap(r->maps[i], r->map_sz[i]);
	}
	free(r);
}

/* Maps one page of consumer position, one of producer position, then the data twice. */
int ring__map(struct ring *r, int map_fd, size_t sz)
{
	size_t page_sz = (size_t)sysconf(_SC_PAGESIZE);
	size_t szs[2] = { page_sz, page_sz + 2 * sz };
	int prots[2] = { PROT_READ | PROT_WRITE, PROT_READ };

	for (int i = 0; i < 2; i++) {
		void *map = mmap(NULL, szs[i], prots[i], MAP_SHARED, map_fd, i * (off_t)page_sz);

		if (map == MAP_FAILED)
			return -errno;
		r->maps[i] = map;
		r->map_sz[i] = szs[i];
	}
	ring__set_area(r, &(struct ring_area){ .consumer_pos = r->maps[0],
					       .producer_pos = r->maps[1],
					       .data = (uint8_t *)r->maps[1] + page_sz,
					       .sz = sz });
	return 0;
}

void ring__set_area(struct ring *r, const struct ring_area *area)
{
	r->area = *area;
	r->pos = r->published = *area->consumer_pos;
	r->limit = r->pos;
}

struct stream *ring__stream(struct ring *r)
{
	return &r->stream;
}

uint64_t ring__used(const struct ring *r)
{
	if (!r->area.sz)
		return 0;
	return __atomic_load_n(r->area.producer_pos, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(r->area.consumer_pos, __ATOMIC_ACQUIRE);
}

uint64_t ring__bad(const struct ring *r)
{
	return r->bad;
}
