/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a perf.data and the layout of their records. */
#ifndef FORMATS_PERFATTR_H
#define FORMATS_PERFATTR_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/perffile.h"

/* Offsets of the fields of fixed size in a sample; 0 if absent. */
struct perf_layout {
	uint16_t id, ip, tid, time, cpu, period;
	uint16_t rest; /* where the fields of variable size start */
};

struct perf_attr {
	struct perf_event_attr attr; /* the known part; zeros if the file has a shorter one */
	uint8_t *bytes;		     /* unchanged bytes of the file */
	size_t sz;
	uint64_t *ids;
	size_t id_cnt;
	struct perf_layout layout;
	uint32_t reg_cnt; /* user-space registers in a sample */
	bool converts;	  /* its samples have registers and stacks to unwind */
};

struct perf_id {
	uint64_t id;
	uint32_t attr;
};

struct perf_attrs {
	struct perf_attr *v;
	size_t cnt, cap;
	struct perf_id *ids; /* ascending if `sorted` */
	size_t id_cnt, id_cap;
	bool sorted;
	struct perf_id last; /* the last lookup */
};

void perf_attrs__free(struct perf_attrs *);

struct perf_attr_source {
	const void *attr; /* its size field is its length, at most sz */
	size_t sz;
	const void *ids; /* NULL if there are none; need not be aligned */
	size_t id_cnt;
};

/* Copies an event and its ids. Returns 0, -EINVAL (not an event), -E2BIG (too many) or -ENOMEM. */
int perf_attrs__add(struct perf_attrs *, const struct perf_attr_source *);

/* Returns the event with that id, or the first event if the id is unknown. Returns NULL if there
 * are no events. */
const struct perf_attr *perf_attrs__find(struct perf_attrs *, uint64_t id);

/*
 * Changes the bytes of a copied event so that its samples have call chains in place of registers
 * and stacks, if it has these. `sz` is at least PERF_ATTR_MIN.
 */
void perf_attr__rewrite(uint8_t *bytes, size_t sz);

/* Return the distance of id, time and CPU from the end of a record that is not a sample, in bytes.
 * Return 0 if it is absent. perf_attr__trailer_sz() returns the size of all these fields. */
size_t perf_attr__trailer_id(const struct perf_attr *);
size_t perf_attr__trailer_time(const struct perf_attr *);
size_t perf_attr__trailer_cpu(const struct perf_attr *);
size_t perf_attr__trailer_sz(const struct perf_attr *);

#endif
