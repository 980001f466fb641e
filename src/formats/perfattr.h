/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a perf.data: how their records are laid out. */
#ifndef FORMATS_PERFATTR_H
#define FORMATS_PERFATTR_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/perffile.h"

/* Where fields of one size stand in a sample, by their offsets; 0: it has none. */
struct perf_layout {
	uint16_t id, ip, tid, time, cpu, period;
	uint16_t rest; /* where fields of any size begin */
};

struct perf_attr {
	struct perf_event_attr attr; /* what we know of it; zeros where the file's is shorter */
	uint8_t *bytes;		     /* as the file has it */
	size_t sz;
	uint64_t *ids;
	size_t id_cnt;
	struct perf_layout layout;
	uint32_t reg_cnt; /* registers of user space in a sample */
	bool converts;	  /* its samples have registers and stacks to unwind */
};

struct perf_id {
	uint64_t id;
	uint32_t attr;
};

struct perf_attrs {
	struct perf_attr *v;
	size_t cnt, cap;
	struct perf_id *ids; /* ascending when sorted */
	size_t id_cnt, id_cap;
	bool sorted;
	struct perf_id last; /* that was asked for */
};

void perf_attrs__free(struct perf_attrs *);

struct perf_attr_source {
	const void *attr; /* its own size says how long it is, and it is at most sz */
	size_t sz;
	const void *ids; /* NULL: none; they need not be aligned */
	size_t id_cnt;
};

/* Copies an event and its ids. 0, -EINVAL: it is none; -E2BIG, -ENOMEM. */
int perf_attrs__add(struct perf_attrs *, const struct perf_attr_source *);

/* Whose a record with that id is; of an unknown one the first's. NULL: there are no events. */
const struct perf_attr *perf_attrs__find(struct perf_attrs *, uint64_t id);

/*
 * In a copy of an event's bytes: call chains in place of registers and stacks, if it has them to
 * unwind. `sz` bytes, at least PERF_ATTR_MIN.
 */
void perf_attr__rewrite(uint8_t *bytes, size_t sz);

/* Where id, time and CPU are before the end of records that are no samples, in bytes; 0: they have
 * none. */
size_t perf_attr__trailer_id(const struct perf_attr *);
size_t perf_attr__trailer_time(const struct perf_attr *);
size_t perf_attr__trailer_cpu(const struct perf_attr *);
size_t perf_attr__trailer_sz(const struct perf_attr *);

#endif
