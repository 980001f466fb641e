// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "event/perfrecord.h"
#include "formats/perfdata.h"
#include "formats/perfinflate.h"
#include "formats/perfsample.h"

#define RECORD_HEADER_SZ 8
/* Records to prefetch ahead, assuming the size of the current one: most samples have equal size. */
#define AHEAD 8

static struct perf_reader *perfreader_of(struct stream_reader *r)
{
	return (struct perf_reader *)r;
}

static uint64_t perfreader_u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t perfreader_record_sz(const uint8_t *p)
{
	uint16_t sz;

	memcpy(&sz, p + 6, sizeof(sz));
	return sz;
}

/* ---- records ---- */

/* Returns the record at the input position, or NULL at the end or a fault. */
static const uint8_t *perfreader_peek_record(struct perf_reader *r, size_t *sz)
{
	struct input *in = r->base.in;
	uint64_t off = input__off(in);
	const uint8_t *p;

	if (off >= r->data_end)
		return NULL;
	p = input__peek(in, RECORD_HEADER_SZ);
	if (!p) {
		if (input__left(in))
			fault__set(&r->base.fault, off, "ends in a record");
		else if (r->data_end != UINT64_MAX)
			fault__set(&r->base.fault, off, "ends before its last record");
		else if (!r->pipe)
			fault__set(&r->base.fault, off,
				   "was not closed by the recorder: it has only records");
		return NULL;
	}
	*sz = perfreader_record_sz(p);
	if (*sz < RECORD_HEADER_SZ) {
		fault__set(&r->base.fault, off, "a record of %zu bytes", *sz);
		return NULL;
	}
	p = input__peek(in, *sz);
	if (!p)
		fault__set(&r->base.fault, off, "ends in a record");
	return p;
}

static void perfreader_add_attr_record(struct perf_reader *r, const struct raw *raw)
{
	const uint8_t *attr = raw->data + RECORD_HEADER_SZ;
	size_t left = raw->sz - RECORD_HEADER_SZ;
	uint32_t sz = 0;
	struct perf_attr_source source;

	if (left >= PERF_ATTR_MIN)
		memcpy(&sz, attr + 4, sizeof(sz));
	if (sz < PERF_ATTR_MIN || sz > left)
		sz = 0;
	source = (struct perf_attr_source){ attr, sz, attr + sz, (left - sz) / 8 };
	if (perf_reader__add_attr(r, &source) != 0)
		fault__set(&r->base.fault, input__off(r->base.in),
			   "the description of an event is damaged");
}

static void perfreader_mark_round(struct perf_reader *r, struct raw *raw)
{
	(void)r;
	raw->round = true;
}

/* Extends the record by its payload, which follows it. */
static void perfreader_extend_tracing_data(struct perf_reader *r, struct raw *raw)
{
	uint32_t sz = 0;

	if (raw->sz >= 12)
		memcpy(&sz, raw->data + 8, sizeof(sz));
	if (sz > INPUT_RUN_MAX - 65536) {
		fault__set(&r->base.fault, input__off(r->base.in), "tracing data of %u bytes", sz);
		return;
	}
	raw->sz += (sz + 7ull) & ~7ull;
	raw->data = input__peek(r->base.in, raw->sz);
	r->step = raw->sz;
	if (!raw->data)
		fault__set(&r->base.fault, input__off(r->base.in), "ends in its tracing data");
}

static void perfreader_add_build_id(struct perf_reader *r, struct raw *raw)
{
	perf_build_ids__add(&r->build_ids, raw->data, raw->sz);
}

static void perfreader_take_attr(struct perf_reader *r, struct raw *raw)
{
	if (r->pipe)
		perfreader_add_attr_record(r, raw);
}

/* Skips hardware traces: they are not samples, and they contain offsets in the file. */
static void perfreader_skip_auxtrace(struct perf_reader *r, struct raw *raw)
{
	uint64_t payload = 0;

	if (raw__type(raw) == PERF_AUXTRACE && raw->sz >= 16)
		payload = perfreader_u64_at(raw->data + 8);
	r->base.skipped++;
	input__step(r->base.in, r->step);
	r->step = 0;
	raw->data = NULL;
	if (!input__skip(r->base.in, payload))
		fault__set(&r->base.fault, input__off(r->base.in), "ends in a hardware trace");
}

static void perfreader_begin_inflate(struct perf_reader *r, struct raw *raw)
{
	size_t head = raw__type(raw) == PERF_COMPRESSED ? 8 : 16;
	uint64_t sz = raw->sz - 8;

	if (head == 16 && raw->sz >= 16)
		sz = perfreader_u64_at(raw->data + 8);
	if (raw->sz < head || sz > raw->sz - (head == 16 ? head : 8))
		fault__set(&r->base.fault, input__off(r->base.in),
			   "a compressed record of no size");
	else if (perf_inflate__begin(&r->inflate, raw->data + head, sz) != 0)
		fault__set(&r->base.fault, input__off(r->base.in), "out of memory");
	raw->data = NULL;
}

/* Handlers by record type. A handler sets data to NULL if the record must not be returned. */
static void (*const handlers[])(struct perf_reader *, struct raw *) = {
	[PERF_HEADER_ATTR] = perfreader_take_attr,
	[PERF_TRACING_DATA] = perfreader_extend_tracing_data,
	[PERF_HEADER_BUILD_ID] = perfreader_add_build_id,
	[PERF_FINISHED_ROUND] = perfreader_mark_round,
	[PERF_AUXTRACE_INFO] = perfreader_skip_auxtrace,
	[PERF_AUXTRACE] = perfreader_skip_auxtrace,
	[PERF_AUXTRACE_ERROR] = perfreader_skip_auxtrace,
	[PERF_COMPRESSED] = perfreader_begin_inflate,
	[PERF_COMPRESSED2] = perfreader_begin_inflate,
};

static bool perfreader_next_plain(struct perf_reader *r, struct raw *raw)
{
	const char *wrong = NULL;

	if (perf_inflate__next(&r->inflate, raw, &wrong)) {
		raw->off = input__off(r->base.in);
		return true;
	}
	if (wrong)
		fault__set(&r->base.fault, input__off(r->base.in), "%s", wrong);
	return false;
}

/* Finishes after the last record: reports a fault, or reads the features. Returns false. */
static bool perfreader_end(struct perf_reader *r)
{
	if (!r->base.fault.set && perf_inflate__left(&r->inflate))
		fault__set(&r->base.fault, input__off(r->base.in),
			   "its compressed data end in a record");
	if (!r->base.fault.set && !r->pipe && !r->has_features)
		perf_reader__read_features(r);
	if (!r->base.fault.set)
		r->base.fault = r->later;
	return false;
}

static bool perf_next(struct stream_reader *base, struct raw *raw)
{
	struct perf_reader *r = perfreader_of(base);
	uint32_t type;

	while (!base->fault.set) {
		if (perfreader_next_plain(r, raw))
			return true;
		input__step(base->in, r->step);
		r->step = 0;
		if (base->fault.set)
			break;
		*raw = (struct raw){ .off = input__off(base->in) };
		raw->data = perfreader_peek_record(r, &raw->sz);
		if (!raw->data)
			return perfreader_end(r);
		r->step = raw->sz;
		__builtin_prefetch(raw->data + AHEAD * raw->sz);
		type = raw__type(raw);
		if (type < sizeof(handlers) / sizeof(*handlers) && handlers[type])
			handlers[type](r, raw);
		if (raw->data && !base->fault.set)
			return true;
	}
	return false;
}

/* ---- parsing records ---- */

const struct perf_attr *perf_reader__attr(struct perf_reader *r, const struct raw *raw)
{
	const struct perf_attr *first = r->attrs.cnt ? r->attrs.v : NULL;
	size_t at;

	if (r->attrs.cnt <= 1)
		return first;
	if (raw__type(raw) == PERF_RECORD_SAMPLE) {
		at = first->layout.id;
		if (!at || at + 8 > raw->sz)
			return first;
		return perf_attrs__find(&r->attrs, perfreader_u64_at(raw->data + at));
	}
	at = perf_attr__trailer_id(first);
	if (!at || at + RECORD_HEADER_SZ > raw->sz)
		return first;
	return perf_attrs__find(&r->attrs, perfreader_u64_at(raw->data + raw->sz - at));
}

static uint64_t perfreader_sample_time(const struct perf_attr *a, const struct raw *raw)
{
	size_t at = a->layout.time;

	return at && at + 8 <= raw->sz ? perfreader_u64_at(raw->data + at) : 0;
}

static uint64_t perfreader_trailer_time(const struct perf_attr *a, const struct raw *raw)
{
	size_t at = perf_attr__trailer_time(a);

	return at && at + RECORD_HEADER_SZ <= raw->sz ? perfreader_u64_at(raw->data + raw->sz - at)
						      : 0;
}

static uint64_t perf_time(struct stream_reader *base, const struct raw *raw)
{
	uint32_t type = raw__type(raw);
	const struct perf_attr *a;

	if (type >= PERF_USER_TYPES)
		return 0;
	a = perf_reader__attr(perfreader_of(base), raw);
	if (!a)
		return 0;
	return type == PERF_RECORD_SAMPLE ? perfreader_sample_time(a, raw)
					  : perfreader_trailer_time(a, raw);
}

static uint16_t perfreader_cpumode(const struct raw *raw)
{
	uint16_t misc;

	memcpy(&misc, raw->data + 4, sizeof(misc));
	return misc & PERF_RECORD_MISC_CPUMODE_MASK;
}

static void perfreader_parse_sample(struct perf_reader *r, const struct perf_attr *a,
				    const struct raw *raw, struct item *item)
{
	uint16_t mode = perfreader_cpumode(raw);

	if (!perf_sample__parse(a, raw->data, raw->sz, r->base.chain, item))
		return;
	item->sample.kernel = mode == PERF_RECORD_MISC_KERNEL ||
			      mode == PERF_RECORD_MISC_HYPERVISOR ||
			      mode == PERF_RECORD_MISC_GUEST_KERNEL;
	item->kind = ITEM_SAMPLE;
}

/* Returns true for a record of a guest: its processes are not on this machine. */
static bool perfreader_is_foreign(const struct raw *raw)
{
	uint16_t mode = perfreader_cpumode(raw);

	return mode == PERF_RECORD_MISC_GUEST_USER || mode == PERF_RECORD_MISC_GUEST_KERNEL;
}

static void perfreader_parse_process(struct perf_reader *r, const struct perf_attr *a,
				     const struct raw *raw, struct item *item)
{
	size_t trailer = perf_attr__trailer_sz(a), cpu = perf_attr__trailer_cpu(a);
	struct perfrecord_body body = { .type = raw__type(raw) };
	struct record *record = &item->record;
	const struct build_id *id;

	if (trailer + RECORD_HEADER_SZ > raw->sz)
		return;
	memcpy(&body.misc, raw->data + 4, sizeof(body.misc));
	body.data = raw->data + RECORD_HEADER_SZ;
	body.sz = raw->sz - RECORD_HEADER_SZ - trailer;
	record->time_ns = perfreader_trailer_time(a, raw);
	record->cpu = UINT32_MAX;
	if (cpu)
		memcpy(&record->cpu, raw->data + raw->sz - cpu, sizeof(record->cpu));
	if (!perfrecord__parse_body(&body, record) || perfreader_is_foreign(raw))
		return;
	item->kind = ITEM_PROCESS;
	if (record->type != RECORD_MMAP || record->mmap.build_id.sz > 0)
		return;
	id = perf_build_ids__find(&r->build_ids, record->mmap.path);
	if (!id)
		return;
	record->mmap.build_id = *id;
	record->mmap.by_path = record->mmap.ino != 0;
}

#define CHAIN_HEAD_SZ (RECORD_HEADER_SZ + 16) /* cookie, number of entries */

static void perfreader_parse_chain(struct perf_reader *r, const struct perf_attr *a,
				   const struct raw *raw, struct item *item)
{
	size_t trailer = perf_attr__trailer_sz(a);
	struct item_chain *c = &item->chain;
	uint64_t cnt;

	if (!(a->attr.sample_type & PERF_SAMPLE_TID) || !trailer ||
	    CHAIN_HEAD_SZ + trailer > raw->sz)
		return;
	cnt = perfreader_u64_at(raw->data + RECORD_HEADER_SZ + 8);
	if (cnt > ITEM_CHAIN_MAX || cnt > (raw->sz - CHAIN_HEAD_SZ - trailer) / 8)
		return;
	item->record =
		(struct record){ .time_ns = perfreader_trailer_time(a, raw), .cpu = UINT32_MAX };
	memcpy(&item->record.tgid, raw->data + raw->sz - trailer, 4);
	memcpy(&item->record.tid, raw->data + raw->sz - trailer + 4, 4);
	memcpy(r->base.chain, raw->data + CHAIN_HEAD_SZ, cnt * 8);
	*c = (struct item_chain){ perfreader_u64_at(raw->data + RECORD_HEADER_SZ), cnt,
				  r->base.chain };
	item->kind = ITEM_CHAIN;
}

static void perf_parse(struct stream_reader *base, const struct raw *raw, struct item *item)
{
	struct perf_reader *r = perfreader_of(base);
	uint32_t type = raw__type(raw);
	const struct perf_attr *a = perf_reader__attr(r, raw);

	item->kind = ITEM_OTHER;
	if (!a || type >= PERF_USER_TYPES)
		return;
	if (type == PERF_RECORD_SAMPLE)
		perfreader_parse_sample(r, a, raw, item);
	else if (type == PERF_CALLCHAIN_DEFERRED)
		perfreader_parse_chain(r, a, raw, item);
	else
		perfreader_parse_process(r, a, raw, item);
}

/* ---- the object ---- */

static void perfreader_free(struct stream_reader *base)
{
	struct perf_reader *r = perfreader_of(base);

	for (size_t i = 0; i < PERF_FEATURES; i++)
		free(r->features[i].data);
	perf_build_ids__free(&r->build_ids);
	perf_inflate__free(&r->inflate);
	perf_attrs__free(&r->attrs);
	free(r);
}

static const struct stream_reader_ops ops = { perfreader_free, perf_next, perf_time, perf_parse };

struct stream_reader *perf_reader__new(struct input *in)
{
	struct perf_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->base.ops = &ops;
	r->base.format = FORMAT_PERF;
	r->base.in = in;
	r->base.rounds = true;
	r->data_end = UINT64_MAX;
	perf_reader__read_header(r);
	return &r->base;
}
