/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides the events of a part by what they are sorted by (command, host, time) into ranges that
 * fit into memory, so that each is sorted alone.
 */
#ifndef STACKSEXPORT_FLEET_MERGERANGES_H
#define STACKSEXPORT_FLEET_MERGERANGES_H

#include "stacksexport/duck/db.h"
#include "store/strings.h"

/* The first rows of a command on a host in a slot of time. */
struct merge_key {
	char *command, *host;
	int64_t slot_ns;
};

struct merge_ranges {
	struct merge_key *begins; /* of all ranges but the first */
	size_t cnt, cap;
	uint64_t row_cnt;
};

/*
 * Finds the ranges of the rows of merge_files in [merge_from, merge_to), and their number. A range
 * has at most `max_rows`, or more if ten seconds of a command on a host have more. The inputs have
 * no more rows than `at_most`. Returns 0, -EIO if the files cannot be read, or -errno. Call
 * merge_ranges__free() in each case.
 */
int merge_ranges__read(struct merge_ranges *, struct db *, size_t max_rows, uint64_t at_most);
void merge_ranges__free(struct merge_ranges *);

/* The ranges in which rows of a command on a host can be. */
struct merge_span {
	uint32_t first, last;
};

struct merge_span merge_ranges__of(const struct merge_ranges *, struct string command,
				   struct string host);

/* Returns which of them has a row with this time. */
static inline uint32_t merge_ranges__at(const struct merge_ranges *r, struct merge_span span,
					int64_t timestamp)
{
	while (span.first < span.last && timestamp >= r->begins[span.first].slot_ns)
		span.first++;
	return span.first;
}

#endif
