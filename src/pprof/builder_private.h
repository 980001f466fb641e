/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a builder. Private to builder.c and builder_parts.c, which fill it, and to the
 * writers of formats. */
#ifndef PPROF_BUILDER_PRIVATE_H
#define PPROF_BUILDER_PRIVATE_H

#include "base/buf.h"
#include "profile.pb-c.h"
#include "pprof/builder.h"
#include "base/hash.h"

/* Keys are compared as bytes and so must have no padding. Strings are ids in builder.strings. */
struct mapping_key {
	uint32_t module, build_id;
	uint64_t bias; /* link-time address minus file offset, constant per segment */
	uint64_t has_bias;
};

struct function_key {
	uint32_t name, file;
};

/* JIT code and files without a build ID may have different functions at one address. */
struct location_key {
	uint64_t place, offset;
	uint32_t mapping, name;
	int64_t line;
};

_Static_assert(sizeof(struct mapping_key) == 24 && sizeof(struct function_key) == 8 &&
		       sizeof(struct location_key) == 32,
	       "no padding");

struct mapping_entry {
	UT_hash_handle hh;
	struct mapping_key key;
	uint64_t low, high;  /* lowest and highest sampled address */
	struct lines *lines; /* NULL if it has none; borrowed */
	Perftools__Profiles__Mapping pb;
};

struct function_entry {
	UT_hash_handle hh;
	struct function_key key;
	Perftools__Profiles__Function pb;
};

struct location_entry {
	UT_hash_handle hh;
	struct location_key key;
	Perftools__Profiles__Location pb;
};

struct sample_entry {
	UT_hash_handle hh;
	Perftools__Profiles__Sample pb;
	int64_t values[BUILDER_VALUE_CNT];
	uint64_t location_ids[]; /* the key */
};

struct kept_stack {
	UT_hash_handle hh;
	uint64_t stack_id; /* the key */
	size_t cnt;
	uint64_t location_ids[];
};

/* The tables keep insertion order. Ids count from 1 in that order. */
struct builder {
	struct builder_options options;
	struct strtab *strings;
	struct mapping_entry *mappings;
	struct function_entry *functions;
	struct location_entry *locations;
	struct sample_entry *samples;
	struct kept_stack *kept;
	struct buf scratch;  /* the string being sanitized before interning */
	struct buf stack;    /* uint64_t location ids of the sample being read */
	struct buf lines;    /* struct found_line of the location being made */
	struct buf comments; /* int64_t string ids */
	uint32_t types[BUILDER_VALUE_CNT], units[BUILDER_VALUE_CNT];
	uint32_t period_type, period_unit;
	int64_t start_ns, wall_ns, period_ns;
	size_t unnamed;
	Perftools__Profiles__Label base_label, *base_labels[1]; /* of samples of the base */
	bool stacks, of_base;
	int err;
};

void builder__free_kept(struct builder *);

/* Adds a mapping for options.program. */
void builder__add_program(struct builder *);

#endif
