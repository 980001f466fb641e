/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many rings, one order. Every ring (one per CPU for BPF, one per CPU for the perf side-band) is a
 * stream of records that are in time order but for nested interrupts; merge__drain() hands out the
 * records of all of them, earliest first. Whoever gets a sample has seen every exec, mmap and fork
 * before it.
 *
 * Records later than `until_ns`, a time taken before the call, stay for the next round. That makes
 * the order of one thread's records exact over all rings: when a record of it on CPU B is older
 * than until_ns, its earlier one on CPU A was in A's ring before until_ns, so this round sees it.
 */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

#include "event/record.h"

#define STREAM_EMPTY UINT64_MAX

struct stream {
	void (*begin)(struct stream *); /* reads how far the producer has come: later records wait
					   for the next round */
	uint64_t (*peek)(struct stream *); /* time of the next record, or STREAM_EMPTY */
	void (*next)(struct stream *, record_fn,
		     void *arg); /* hands it out and steps over it; one call may hand out none */
	void (*end)(struct stream *); /* gives what was read back to the producer; in between too */
	uint64_t head_ns;	      /* merge__drain()'s own */
};

struct streams {
	struct stream **v;
	size_t cnt;
};

/* Changes the order of the streams. O(log cnt) per record, nothing when one stream goes on being
 * the earliest. */
void merge__drain(const struct streams *, uint64_t until_ns, records_fn, void *arg);

#endif
