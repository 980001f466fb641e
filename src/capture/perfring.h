/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A perf ring as a stream. Reads the records that the kernel, or a test, writes into it. */
#ifndef CAPTURE_PERFRING_H
#define CAPTURE_PERFRING_H

#include <linux/perf_event.h>

#include "capture/merge.h"

struct perfring {
	struct stream stream;		  /* first: the public part */
	struct perf_event_mmap_page *ctl; /* borrowed; data_head and data_tail are used */
	const uint8_t *data;		  /* borrowed */
	size_t sz;			  /* bytes of data, a power of two */
	uint64_t head, tail;
	size_t record_sz;		  /* of the record at tail; 0: not read yet */
	struct record record;		  /* the record at tail, parsed */
	uint8_t straight[UINT16_MAX + 1]; /* the record at tail in one piece, if it crosses the end
					     of the ring */
};

void perfring__init(struct perfring *, struct perf_event_mmap_page *ctl, const void *data,
		    size_t sz);

#endif
