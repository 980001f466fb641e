/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges many rings by time. Every ring (one per CPU for BPF, one per CPU for the perf side-band)
 * is a stream of records in the order of time, except for nested interrupts. merge__drain() hands
 * out the records of all streams, earliest first. A consumer of a sample has therefore seen every
 * exec, mmap and fork before it.
 *
 * Records later than `until_ns`, a time taken before the call, stay for the next round. That makes
 * the order of one thread's records exact over all rings: if its record on CPU B is older than
 * until_ns, its earlier record on CPU A was in A's ring before until_ns, so this round sees it.
 */
#ifndef CAPTURE_MERGE_H
#define CAPTURE_MERGE_H

#include "event/record.h"

#define STREAM_EMPTY UINT64_MAX

struct stream {
	void (*begin)(struct stream *); /* reads the producer's position: later records wait for the
					   next round */
	uint64_t (*peek)(struct stream *); /* time of the next record, or STREAM_EMPTY */
	void (*next)(struct stream *, record_fn, void *arg); /* hands out the next record and steps
								over it; a call may hand out none */
	void (*end)(struct stream *); /* returns the space of what was read to the producer; also
					 called in between */
	uint64_t head_ns;	      /* private to merge__drain() */
};

struct streams {
	struct stream **v;
	size_t cnt;
};

/* Hands out all records up to until_ns. Reorders the streams. Costs O(log cnt) per record, and
 * nothing while one stream remains the earliest. */
void merge__drain(const struct streams *, uint64_t until_ns, records_fn, void *arg);

#endif
