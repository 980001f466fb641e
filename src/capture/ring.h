/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the events of one BPF ring buffer (BPF_MAP_TYPE_RINGBUF, Documentation/bpf/ringbuf.rst) as
 * a stream. The kernel writes its bytes, but sizes are checked anyway: a record with inconsistent
 * sizes is skipped, and the capture reports it as lost.
 */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include "capture/merge.h"

/* The ring in memory. The data are mapped twice in a row, so that no record is split. */
struct ring_area {
	uint64_t *consumer_pos; /* written by us */
	const uint64_t
		*producer_pos; /* written by the kernel; both count bytes since the beginning */
	const uint8_t *data;   /* 2 * sz bytes */
	uint64_t sz;	       /* a power of two */
};

struct ring;

struct ring *ring__new(void); /* an empty ring; returns NULL and sets errno on failure */
void ring__free(struct ring *);
/* Maps the ring of `map_fd`, which has `sz` bytes. Returns 0 or -errno. */
int ring__map(struct ring *, int map_fd, size_t sz);
/* Reads from memory that the caller owns and keeps. */
void ring__set_area(struct ring *, const struct ring_area *);

struct stream *ring__stream(struct ring *); /* lives as long as the ring */
uint64_t ring__used(const struct ring *);   /* unread bytes */
uint64_t ring__bad(const struct ring *);    /* records that were skipped so far */

#endif
