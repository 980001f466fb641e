// SPDX-License-Identifier: GPL-2.0-or-later
/* A perf ring of 4 KiB: the first two bytes are the start of the input in it. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "capture/perfring.h"

#define RING_SZ 4096

static void see(const struct record *r, void *arg)
{
	size_t *bytes = arg;

	if (r->type == RECORD_MMAP)
		*bytes += strlen(r->mmap.path);
	else if (r->type == RECORD_COMM)
		*bytes += strlen(r->comm.name);
}

static void drain(struct stream *s)
{
	size_t bytes = 0;

	s->begin(s);
	while (s->peek(s) != STREAM_EMPTY)
		s->next(s, see, &bytes);
	s->end(s);
	FUZZ_CHECK(bytes <= RING_SZ);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct perf_event_mmap_page *ctl = calloc(1, sizeof(*ctl));
	struct perfring *ring = malloc(sizeof(*ring));
	uint8_t *bytes = calloc(1, RING_SZ);
	size_t at = sz < 2 ? 0 : (data[0] | (size_t)data[1] << 8) & (RING_SZ - 8);

	ctl->data_head = ctl->data_tail = at;
	perfring__init(ring, ctl, bytes, RING_SZ);
	for (size_t i = 2; i < sz && i < RING_SZ; i++)
		bytes[(at + i - 2) % RING_SZ] = data[i];
	ctl->data_head += sz < 2 ? 0 : sz < RING_SZ ? sz - 2 : RING_SZ;
	drain(&ring->stream);
	/* The records that were read have been released. */
	FUZZ_CHECK(ctl->data_head - ctl->data_tail < sizeof(struct perf_event_header));
	free(bytes);
	free(ring);
	free(ctl);
	return 0;
}
