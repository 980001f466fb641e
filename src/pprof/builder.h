/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a profile of google/pprof from samples. Errors stick: after a failed allocation nothing is
 * added and builder__write() says so.
 */
#ifndef PPROF_BUILDER_H
#define PPROF_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof/binary.h"
#include "pprof/named_frame.h"

#define BUILDER_VALUE_CNT 2

struct builder_options {
	const char *value_names[BUILDER_VALUE_CNT]; /* of the values of a sample; the last is the
						       default */
	bool offsets;				    /* append -offset to function names */
	bool inlines;				    /* show inlined functions */
	struct binaries *binaries;		    /* borrowed */
};

struct builder;

/* Copies what it needs of the options, but for .binaries. NULL + errno. */
struct builder *builder__new(const struct builder_options *);
void builder__free(struct builder *);

/* A sample: its frames, leaf first, then its values. Without frames it is one of [no stack]. */
void builder__frame(struct builder *, const struct named_frame *);
void builder__sample(struct builder *, const int64_t values[BUILDER_VALUE_CNT]);

/*
 * Keeps the frames that were added since the last sample, as a stack and not as a sample's; each id
 * once. Then adds the frames of such a stack to a sample, or none when there is no such stack.
 */
void builder__keep(struct builder *, uint64_t stack_id);
void builder__kept(struct builder *, uint64_t stack_id, bool reversed);

/* Unix nanoseconds and nanoseconds; period_ns 0: the samples are not periodic. */
void builder__set_time(struct builder *, int64_t start_ns, int64_t wall_ns, int64_t period_ns);
void builder__comment(struct builder *, const char *text);

struct builder_stats {
	size_t samples, locations, unnamed; /* unnamed: locations without a name */
	bool stacks;			    /* there is more than [no stack] */
};
void builder__stats(const struct builder *, struct builder_stats *);

/* Writes the profile, gzipped, to the file. 0, -ENOMEM, -EFBIG (2 GiB), or what writing failed
 * with. */
int builder__write(struct builder *, const char *path);

/* The unit of a value with that name: "nanoseconds", "bytes" or "count". */
const char *builder__unit(const char *name);

#endif
