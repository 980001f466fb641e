/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a google/pprof profile from samples. Errors are sticky: after a failed allocation nothing
 * is added and builder__write() returns -ENOMEM.
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
	const char *value_names[BUILDER_VALUE_CNT]; /* one per value of a sample; the last is the
						       default */
	bool offsets;				    /* append -offset to function names */
	bool inlines;				    /* show inlined functions */
	struct binaries *binaries;		    /* borrowed */
	const char *program; /* borrowed: stands for the program if none is in a stack; NULL: none
				does */
};

struct builder;

/* Returns NULL if out of memory. Copies the options; `.binaries` stays borrowed. */
struct builder *builder__new(const struct builder_options *);
void builder__free(struct builder *);

/* To add a sample, add its frames, leaf first, then its values. A sample without frames gets the
 * location [no stack]. */
void builder__frame(struct builder *, const struct named_frame *);
void builder__sample(struct builder *, const int64_t values[BUILDER_VALUE_CNT]);

/*
 * builder__keep() stores the frames added since the last sample as a stack, without a sample. Each
 * id may be kept once. builder__kept() adds the frames of that stack to the current sample, or no
 * frames if the stack is unknown.
 */
void builder__keep(struct builder *, uint64_t stack_id);
void builder__kept(struct builder *, uint64_t stack_id, bool reversed);
bool builder__is_kept(const struct builder *, uint64_t stack_id);

/* Says whether the samples that follow are those of the base of a difference. pprof takes the base
 * for all of a percentage. The values of the base are negative. */
void builder__of_base(struct builder *, bool);

/* `start_ns` is Unix time. `period_ns` is 0 if the samples are not periodic. */
void builder__set_time(struct builder *, int64_t start_ns, int64_t wall_ns, int64_t period_ns);
void builder__comment(struct builder *, const char *text);

struct builder_stats {
	size_t samples, locations, unnamed; /* unnamed: locations without a name */
	bool stacks;			    /* true if a sample has a stack */
};
void builder__stats(const struct builder *, struct builder_stats *);

/* Writes the profile to the file, compressed with gzip. Returns 0, -ENOMEM, -EFBIG (over 2 GiB), or
 * -errno of the failed write. */
int builder__write(struct builder *, const char *path);

/* Writes one line per stack, root first, with the last value of its sample: "main;run;leaf 12".
 * ';' in names becomes ':', control characters become spaces. Stacks of value 0 are left out.
 * Returns 0, -ENOMEM, or -errno of the failed write. */
int builder__write_folded(struct builder *, const char *path);

/* Orders the samples by their last value, the largest first. */
void builder__sort(struct builder *);

/*
 * Writes the JSON of speedscope (https://www.speedscope.app/file-format-schema.json): a profile for
 * each value, the last one first. Speedscope refuses negative weights, so samples with a value
 * below 1 are left out of the profile of that value. Returns 0, -ENOMEM, or -errno of the failed
 * write.
 */
int builder__write_speedscope(struct builder *, const char *path);

/* Writes a request of OTLP, profiles v1development: one profile, of the CPU samples with their
 * period, of off-CPU time, or of the last value. Returns 0, -ENOMEM, -EFBIG (over 2 GiB), or -errno
 * of the failed write. */
int builder__write_otlp(struct builder *, const char *path);

/* Returns the unit of the value with that name: "nanoseconds", "bytes" or "count". */
const char *builder__unit(const char *name);

#endif
