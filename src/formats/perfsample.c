// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/perfsample.h"

#include <string.h>
#include <time.h>

#include "base/cursor.h"

#define HEADER_SZ 8

struct perfsample_parse {
	struct cursor c;
	const struct perf_attr *attr;
	const uint8_t *data; /* start of the record */
	uint64_t *chain;
	struct item_sample *sample;
};

static uint64_t perfsample_read_u64(struct perfsample_parse *p)
{
	const uint8_t *at = cursor__bytes(&p->c, 8);
	uint64_t v = 0;

	if (at)
		memcpy(&v, at, sizeof(v));
	return v;
}

static void perfsample_skip_words(struct perfsample_parse *p, uint64_t cnt)
{
	if (cnt > UINT32_MAX)
		p->c.err = true;
	cursor__bytes(&p->c, (size_t)cnt * 8);
}

/* ---- fields of variable size ---- */

/* Skips the values of one counter, or of all counters of a group. */
static void perfsample_read_counters(struct perfsample_parse *p)
{
	uint64_t f = p->attr->attr.read_format, cnt = 1;
	bool group = f & PERF_FORMAT_GROUP;
	uint64_t times = (f & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1u : 0) +
			 (f & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1u : 0);
	uint64_t each = 1u + (f & PERF_FORMAT_ID ? 1u : 0) + (f & (1u << 4) /* LOST */ ? 1u : 0);

	if (group)
		cnt = perfsample_read_u64(p);
	if (cnt > UINT16_MAX)
		p->c.err = true;
	else
		perfsample_skip_words(p, times + cnt * each);
}

static void perfsample_read_chain(struct perfsample_parse *p)
{
	uint64_t cnt = perfsample_read_u64(p);
	const uint8_t *ips;

	if (cnt > ITEM_CHAIN_MAX) {
		p->c.err = true;
		return;
	}
	ips = cursor__bytes(&p->c, cnt * 8);
	if (!ips)
		return;
	memcpy(p->chain, ips, cnt * 8);
	p->sample->chain_cnt = cnt;
}

static void perfsample_read_raw(struct perfsample_parse *p)
{
	cursor__bytes(&p->c, cursor__u32(&p->c));
}

#define BRANCH_HW_INDEX (1u << 17)
#define BRANCH_COUNTERS (1u << 19)

static void perfsample_read_branches(struct perfsample_parse *p)
{
	uint64_t cnt = perfsample_read_u64(p), type = p->attr->attr.branch_sample_type;

	if (cnt > UINT16_MAX) {
		p->c.err = true;
		return;
	}
	perfsample_skip_words(p, (type & BRANCH_HW_INDEX ? 1 : 0) +
					 cnt * (type & BRANCH_COUNTERS ? 4 : 3));
}

static void perfsample_read_regs(struct perfsample_parse *p)
{
	uint64_t abi = perfsample_read_u64(p);
	size_t sz = p->attr->reg_cnt * sizeof(uint64_t);
	const uint8_t *values = abi ? cursor__bytes(&p->c, sz) : NULL;
	struct item_stack *s;

	if (!values)
		return;
	s = &p->sample->stack;
	s->abi = (uint32_t)abi;
	s->mask = p->attr->attr.sample_regs_user;
	s->cnt = p->attr->reg_cnt;
	memcpy(s->regs, values, sz);
}

static void perfsample_read_stack(struct perfsample_parse *p)
{
	uint64_t wanted = perfsample_read_u64(p), sz;
	const uint8_t *bytes;

	if (wanted == 0)
		return;
	bytes = cursor__bytes(&p->c, wanted);
	sz = perfsample_read_u64(p);
	if (sz > wanted)
		p->c.err = true;
	p->sample->stack.wanted = wanted;
	p->sample->stack.bytes = bytes;
	p->sample->stack.sz = sz;
}

struct perfsample_field {
	uint64_t bit;
	void (*read)(struct perfsample_parse *);
};

/* The fields in the order of the record. Fields after the stack are not parsed. */
static const struct perfsample_field before_chain[] = {
	{ PERF_SAMPLE_READ, perfsample_read_counters }, { 0, NULL }
};
static const struct perfsample_field chain_field[] = {
	{ PERF_SAMPLE_CALLCHAIN, perfsample_read_chain }, { 0, NULL }
};
static const struct perfsample_field before_stack[] = {
	{ PERF_SAMPLE_RAW, perfsample_read_raw },
	{ PERF_SAMPLE_BRANCH_STACK, perfsample_read_branches },
	{ 0, NULL },
};
static const struct perfsample_field stack_fields[] = {
	{ PERF_SAMPLE_REGS_USER, perfsample_read_regs },
	{ PERF_SAMPLE_STACK_USER, perfsample_read_stack },
	{ 0, NULL },
};

/* Reads the fields present. Returns the offset of their end. */
static uint16_t perfsample_read_fields(struct perfsample_parse *p, const struct perfsample_field *f)
{
	for (; f->bit; f++)
		if (p->attr->attr.sample_type & f->bit)
			f->read(p);
	return (uint16_t)(p->c.pos - p->data);
}

static bool perfsample_parse(struct perfsample_parse *p)
{
	struct item_cuts *cuts = &p->sample->cuts;

	cursor__bytes(&p->c, p->attr->layout.rest);
	cuts->chain = perfsample_read_fields(p, before_chain);
	cuts->chain_end = perfsample_read_fields(p, chain_field);
	cuts->stack = perfsample_read_fields(p, before_stack);
	cuts->stack_end = perfsample_read_fields(p, stack_fields);
	return !p->c.err;
}

/* ---- fields of fixed size ---- */

static uint64_t perfsample_u64_at(const uint8_t *data, size_t at, uint64_t otherwise)
{
	if (at)
		memcpy(&otherwise, data + at, sizeof(otherwise));
	return otherwise;
}

static uint32_t perfsample_u32_at(const uint8_t *data, size_t at)
{
	uint32_t v = UINT32_MAX;

	if (at)
		memcpy(&v, data + at, sizeof(v));
	return v;
}

static void perfsample_read_fixed(const struct perf_layout *l, const uint8_t *data,
				  struct item *item)
{
	struct record *r = &item->record;

	item->sample.ip = perfsample_u64_at(data, l->ip, 0);
	item->sample.period = perfsample_u64_at(data, l->period, 1);
	r->time_ns = perfsample_u64_at(data, l->time, 0);
	r->tgid = perfsample_u32_at(data, l->tid);
	r->tid = perfsample_u32_at(data, l->tid ? l->tid + 4u : 0);
	r->cpu = perfsample_u32_at(data, l->cpu);
}

bool perf_sample__parse(const struct perf_attr *a, const void *data, size_t sz, uint64_t *chain,
			struct item *item)
{
	struct item_sample *s = &item->sample;
	struct perfsample_parse p = {
		.c = cursor__on(data, sz), .attr = a, .data = data, .chain = chain, .sample = s
	};

	s->chain = chain;
	s->chain_cnt = 0;
	s->has_stack = a->converts;
	s->monotonic = a->attr.use_clockid && a->attr.clockid == CLOCK_MONOTONIC;
	s->stack.abi = 0;
	s->stack.foreign = false;
	s->stack.cnt = 0;
	s->stack.mask = s->stack.wanted = s->stack.sz = 0;
	s->stack.bytes = NULL;
	if (!perfsample_parse(&p))
		return false;
	perfsample_read_fixed(&a->layout, data, item);
	return true;
}
