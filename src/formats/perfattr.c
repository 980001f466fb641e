// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/perfattr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ATTRS_MAX 4096
#define IDS_MAX	  (4u << 20)

#define UNWINDABLE (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* Offset of the 64-bit flags after read_format. Bit 22 is exclude_callchain_user. */
#define FLAGS_OFF	       40
#define EXCLUDE_CALLCHAIN_USER (1ull << 22)

void perf_attrs__free(struct perf_attrs *a)
{
	for (size_t i = 0; i < a->cnt; i++) {
		free(a->v[i].bytes);
		free(a->v[i].ids);
	}
	free(a->v);
	free(a->ids);
	*a = (struct perf_attrs){ 0 };
}

static bool perfattr_has_stacks(uint64_t sample_type)
{
	return (sample_type & UNWINDABLE) == UNWINDABLE;
}

static int perfattr_add_ids(struct perf_attrs *a, const struct perf_attr *attr, uint32_t idx)
{
	for (size_t i = 0; i < attr->id_cnt; i++) {
		struct perf_id *more = array__room(a->ids, a->id_cnt, &a->id_cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		a->ids = more;
		a->ids[a->id_cnt++] = (struct perf_id){ attr->ids[i], idx };
	}
	a->sorted = false;
	a->last = (struct perf_id){ 0 };
	return 0;
}

static void perfattr_set_layout(struct perf_attr *a)
{
	struct perf_layout *l = &a->layout;
	bool identified = a->attr.sample_type & PERF_SAMPLE_IDENTIFIER;
	uint16_t ignored;
	const struct {
		uint64_t bit;
		uint16_t *at;
	} fields[] = {
		{ PERF_SAMPLE_IDENTIFIER, &l->id },
		{ PERF_SAMPLE_IP, &l->ip },
		{ PERF_SAMPLE_TID, &l->tid },
		{ PERF_SAMPLE_TIME, &l->time },
		{ PERF_SAMPLE_ADDR, &ignored },
		{ PERF_SAMPLE_ID, identified ? &ignored : &l->id },
		{ PERF_SAMPLE_STREAM_ID, &ignored },
		{ PERF_SAMPLE_CPU, &l->cpu },
		{ PERF_SAMPLE_PERIOD, &l->period },
	};

	l->rest = sizeof(struct perf_event_header);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!(a->attr.sample_type & fields[i].bit))
			continue;
		*fields[i].at = l->rest;
		l->rest += 8;
	}
}

static int perfattr_copy(struct perf_attr *to, const struct perf_attr_source *from, size_t sz)
{
	to->sz = sz;
	to->id_cnt = from->id_cnt;
	to->bytes = malloc(sz);
	to->ids = calloc(from->id_cnt + 1, sizeof(*to->ids));
	if (!to->bytes || !to->ids)
		return -ENOMEM;
	memcpy(to->bytes, from->attr, sz);
	memcpy(&to->attr, from->attr, sz < sizeof(to->attr) ? sz : sizeof(to->attr));
	if (from->id_cnt)
		memcpy(to->ids, from->ids, from->id_cnt * sizeof(*to->ids));
	to->converts = perfattr_has_stacks(to->attr.sample_type);
	to->reg_cnt = (uint32_t)__builtin_popcountll(to->attr.sample_regs_user);
	perfattr_set_layout(to);
	return 0;
}

int perf_attrs__add(struct perf_attrs *a, const struct perf_attr_source *from)
{
	struct perf_attr *v = array__room(a->v, a->cnt, &a->cap, sizeof(*v));
	uint32_t sz = 0;
	int err;

	if (!v)
		return -ENOMEM;
	a->v = v;
	if (from->sz >= PERF_ATTR_MIN)
		memcpy(&sz, (const uint8_t *)from->attr + 4, sizeof(sz));
	if (sz == 0)
		sz = PERF_ATTR_MIN; /* the size in the first version of perf_event_open(2) */
	if (sz < PERF_ATTR_MIN || sz > PERF_ATTR_MAX || sz > from->sz || sz % 8)
		return -EINVAL;
	if (a->cnt == ATTRS_MAX || from->id_cnt > IDS_MAX - a->id_cnt)
		return -E2BIG;
	v += a->cnt;
	*v = (struct perf_attr){ 0 };
	err = perfattr_copy(v, from, sz);
	if (!err)
		err = perfattr_add_ids(a, v, (uint32_t)a->cnt);
	if (err) {
		free(v->bytes);
		free(v->ids);
		return err;
	}
	a->cnt++;
	return 0;
}

static int perfattr_by_id(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

const struct perf_attr *perf_attrs__find(struct perf_attrs *a, uint64_t id)
{
	struct perf_id *found, key = { .id = id };

	if (a->cnt <= 1)
		return a->cnt ? a->v : NULL;
	if (id == a->last.id)
		return &a->v[a->last.attr];
	if (!a->sorted && a->id_cnt)
		qsort(a->ids, a->id_cnt, sizeof(*a->ids), perfattr_by_id);
	a->sorted = true;
	found = a->id_cnt ? bsearch(&key, a->ids, a->id_cnt, sizeof(key), perfattr_by_id) : NULL;
	a->last = (struct perf_id){ id, found ? found->attr : 0 };
	return &a->v[a->last.attr];
}

void perf_attr__rewrite(uint8_t *bytes, size_t sz)
{
	struct perf_event_attr a = { 0 };
	size_t known = sz < sizeof(a) ? sz : sizeof(a);
	uint64_t flags;

	memcpy(&a, bytes, known);
	if (!perfattr_has_stacks(a.sample_type))
		return;
	a.sample_type = (a.sample_type & ~(uint64_t)UNWINDABLE) | PERF_SAMPLE_CALLCHAIN;
	a.sample_regs_user = 0;
	a.sample_stack_user = 0;
	memcpy(bytes, &a, known);
	memcpy(&flags, bytes + FLAGS_OFF, sizeof(flags));
	flags &= ~EXCLUDE_CALLCHAIN_USER;
	memcpy(bytes + FLAGS_OFF, &flags, sizeof(flags));
}

/* ---- records other than samples ---- */

static size_t perfattr_words(uint64_t sample_type, uint64_t bits)
{
	return 8 * (size_t)__builtin_popcountll(sample_type & bits);
}

size_t perf_attr__trailer_sz(const struct perf_attr *a)
{
	if (!a->attr.sample_id_all)
		return 0;
	return perfattr_words(a->attr.sample_type, PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							   PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
							   PERF_SAMPLE_CPU |
							   PERF_SAMPLE_IDENTIFIER);
}

size_t perf_attr__trailer_id(const struct perf_attr *a)
{
	uint64_t t = a->attr.sample_type;

	if (!a->attr.sample_id_all || !(t & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)))
		return 0;
	if (t & PERF_SAMPLE_IDENTIFIER)
		return 8;
	return perfattr_words(t, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
}

size_t perf_attr__trailer_time(const struct perf_attr *a)
{
	uint64_t t = a->attr.sample_type;

	if (!a->attr.sample_id_all || !(t & PERF_SAMPLE_TIME))
		return 0;
	return perfattr_words(t, PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
					 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
}

size_t perf_attr__trailer_cpu(const struct perf_attr *a)
{
	uint64_t t = a->attr.sample_type;

	if (!a->attr.sample_id_all || !(t & PERF_SAMPLE_CPU))
		return 0;
	return perfattr_words(t, PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
}
