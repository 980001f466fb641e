// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "formats/perfdata.h"
#include "formats/perfforeign.h"

#define RECORD_HEADER_SZ 8
#define RECORD_SZ_AT	 6

struct perf_writer {
	struct stream_writer base;
	struct perf_reader *reader;	/* NULL if the records have another format */
	bool pipe;			/* the output is a stream */
	bool has_features;		/* the features are written */
	struct perf_file_header header; /* if the output is a file */
};

static struct perf_writer *perfwriter_of(struct stream_writer *w)
{
	return (struct perf_writer *)w;
}

/* ---- samples ---- */

/* Returns how many of `cnt` chain entries fit in a record that has `sz` bytes without them. */
static size_t perfwriter_fitting(size_t sz, size_t cnt)
{
	size_t room = (PERF_RECORD_MAX - sz) / 8;

	return cnt < room ? cnt : room;
}

static uint8_t *perfwriter_put(uint8_t *to, const void *from, size_t sz)
{
	memcpy(to, from, sz);
	return to + sz;
}

static void perf_unwound(struct stream_writer *base, const struct raw *raw, const struct item *item)
{
	const struct item_cuts cut = item->sample.cuts;
	uint64_t cnt;
	uint16_t sz;
	uint8_t *to;

	sz = (uint16_t)(raw->sz - (cut.chain_end - cut.chain) - (cut.stack_end - cut.stack) + 8);
	cnt = perfwriter_fitting(sz, item->sample.chain_cnt);
	sz += (uint16_t)(cnt * 8);
	to = output__extend(base->out, sz);
	perfwriter_put(to, raw->data, cut.chain);
	perfwriter_put(to + RECORD_SZ_AT, &sz, sizeof(sz));
	to = perfwriter_put(to + cut.chain, &cnt, sizeof(cnt));
	to = perfwriter_put(to, item->sample.chain, cnt * 8);
	to = perfwriter_put(to, raw->data + cut.chain_end, cut.stack - cut.chain_end);
	perfwriter_put(to, raw->data + cut.stack_end, raw->sz - cut.stack_end);
}

/* ---- event descriptions ---- */

void perf_event_desc__rewrite(uint8_t *data, size_t sz)
{
	struct cursor c = cursor__on(data, sz);
	uint32_t cnt = cursor__u32(&c), attr_sz = cursor__u32(&c);

	if (attr_sz < PERF_ATTR_MIN)
		return;
	for (uint32_t i = 0; i < cnt && !c.err; i++) {
		const uint8_t *attr = cursor__bytes(&c, attr_sz);
		uint32_t ids = cursor__u32(&c), name_sz = cursor__u32(&c);

		cursor__bytes(&c, name_sz);
		cursor__bytes(&c, (size_t)ids * 8);
		if (attr && !c.err)
			perf_attr__rewrite(data + (attr - data), attr_sz);
	}
}

/* Writes a rewritten copy of data of the reader. */
static void perfwriter_write_changed(struct output *out, const uint8_t *data, size_t sz,
				     void (*rewrite)(uint8_t *, size_t))
{
	uint8_t *copy = malloc(sz + 1);

	if (!copy)
		return;
	memcpy(copy, data, sz);
	rewrite(copy, sz);
	output__write(out, copy, sz);
	free(copy);
}

static void perfwriter_write_attr(struct perf_writer *w, const struct perf_attr *a)
{
	perfwriter_write_changed(w->base.out, a->bytes, a->sz, perf_attr__rewrite);
}

/* Returns true for features that are no longer true of the output: it has no compressed records and
 * no hardware traces. */
static bool perfwriter_is_stale(uint64_t feature)
{
	return feature == PERF_FEAT_COMPRESSED || feature == PERF_FEAT_AUXTRACE;
}

static void perfwriter_write_feature(struct perf_writer *w, unsigned id,
				     const struct perf_feature *f)
{
	if (id == PERF_FEAT_EVENT_DESC)
		perfwriter_write_changed(w->base.out, f->data, f->sz, perf_event_desc__rewrite);
	else
		output__write(w->base.out, f->data, f->sz);
}

/* ---- a stream ---- */

static void perfwriter_write_record_header(struct output *out, uint32_t type, size_t sz)
{
	struct perf_event_header h = { .type = type, .size = (uint16_t)sz };

	output__write(out, &h, sizeof(h));
}

static void perfwriter_write_attr_record(struct perf_writer *w, const struct perf_attr *a)
{
	size_t room = (PERF_RECORD_MAX - RECORD_HEADER_SZ - a->sz) / 8;
	size_t cnt = a->id_cnt < room ? a->id_cnt : room;

	perfwriter_write_record_header(w->base.out, PERF_HEADER_ATTR,
				       RECORD_HEADER_SZ + a->sz + cnt * 8);
	perfwriter_write_attr(w, a);
	output__write(w->base.out, a->ids, cnt * 8);
}

static void perfwriter_write_tracing_data(struct perf_writer *w, const struct perf_feature *f)
{
	perfwriter_write_record_header(w->base.out, PERF_TRACING_DATA, 12);
	output__u32(w->base.out, (uint32_t)f->sz);
	output__write(w->base.out, f->data, f->sz);
	output__zeros(w->base.out, -f->sz % 8);
}

/* Writes the section as records. It is a list of records already, but without their type. */
static void perfwriter_write_build_ids(struct perf_writer *w, const struct perf_feature *f)
{
	struct cursor c = cursor__on(f->data, f->sz);

	while (cursor__left(&c) >= RECORD_HEADER_SZ) {
		const uint8_t *record = c.pos;
		const uint32_t type = PERF_HEADER_BUILD_ID;
		uint16_t sz;

		memcpy(&sz, record + 6, sizeof(sz));
		if (sz < RECORD_HEADER_SZ || !cursor__bytes(&c, sz))
			return;
		output__write(w->base.out, &type, sizeof(type));
		output__write(w->base.out, record + 4, sz - 4u);
	}
}

static void perfwriter_write_feature_record(struct perf_writer *w, unsigned id,
					    const struct perf_feature *f)
{
	if (f->sz > PERF_RECORD_MAX - 16) {
		w->base.dropped++;
		return;
	}
	perfwriter_write_record_header(w->base.out, PERF_HEADER_FEATURE, 16 + f->sz);
	output__u64(w->base.out, id);
	perfwriter_write_feature(w, id, f);
}

/* Writes the features of a file as records of a stream. */
static void perfwriter_write_features_as_records(struct perf_writer *w)
{
	static const struct {
		unsigned id;
		void (*write)(struct perf_writer *, const struct perf_feature *);
	} own_records[] = {
		{ PERF_FEAT_TRACING_DATA, perfwriter_write_tracing_data },
		{ PERF_FEAT_BUILD_ID, perfwriter_write_build_ids },
	};

	w->has_features = true;
	for (unsigned id = 0; id < PERF_FEATURES; id++) {
		const struct perf_feature *f = &w->reader->features[id];
		size_t own = 0;

		while (own < 2 && own_records[own].id != id)
			own++;
		if (!f->data || perfwriter_is_stale(id))
			continue;
		if (own < 2)
			own_records[own].write(w, f);
		else if (f->sz > 0)
			perfwriter_write_feature_record(w, id, f);
	}
}

static void perfwriter_begin_stream(struct perf_writer *w)
{
	output__u64(w->base.out, PERF_MAGIC);
	output__u64(w->base.out, PERF_PIPE_HEADER_SZ);
	if (!w->reader || w->reader->pipe)
		return;
	for (size_t i = 0; i < w->reader->attrs.cnt; i++)
		perfwriter_write_attr_record(w, &w->reader->attrs.v[i]);
	if (w->reader->has_features)
		perfwriter_write_features_as_records(w);
}

/* ---- a file ---- */

/* Starts a file in the order that perf uses: header, ids, events, records, features. */
static void perfwriter_begin_file(struct perf_writer *w)
{
	const struct perf_attrs *attrs = &w->reader->attrs;
	struct output *out = w->base.out;
	size_t each = w->reader->header.attr_sz - sizeof(struct perf_file_section);
	uint64_t ids_off = sizeof(w->header);

	w->header = w->reader->header;
	output__zeros(out, sizeof(w->header)); /* perfwriter_end_file() patches the header */
	for (size_t i = 0; i < attrs->cnt; i++)
		output__write(out, attrs->v[i].ids, attrs->v[i].id_cnt * 8);
	w->header.attrs.off = output__off(out);
	for (size_t i = 0; i < attrs->cnt; i++) {
		const struct perf_attr *a = &attrs->v[i];

		perfwriter_write_attr(w, a);
		output__zeros(out, each - a->sz);
		output__u64(out, a->id_cnt ? ids_off : 0);
		output__u64(out, a->id_cnt * 8);
		ids_off += a->id_cnt * 8;
	}
	w->header.data.off = output__off(out);
	w->header.attrs.sz = w->header.data.off - w->header.attrs.off;
}

static void perfwriter_end_file(struct perf_writer *w)
{
	struct output *out = w->base.out;
	uint64_t off;

	if (output__off(out) ==
	    w->header.data.off) /* perf takes a file without records for unclosed */
		perfwriter_write_record_header(out, PERF_FINISHED_ROUND, RECORD_HEADER_SZ);
	off = output__off(out);

	w->header.data.sz = off - w->header.data.off;
	memset(w->header.features, 0, sizeof(w->header.features));
	for (unsigned id = 0; id < PERF_FEATURES; id++) {
		if (!w->reader->features[id].data || perfwriter_is_stale(id))
			continue;
		w->header.features[id / 64] |= 1ull << (id % 64);
		off += sizeof(struct perf_file_section);
	}
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned id = 0; id < PERF_FEATURES; id++) {
			const struct perf_feature *f = &w->reader->features[id];

			if (!f->data || perfwriter_is_stale(id))
				continue;
			if (pass == 1) {
				perfwriter_write_feature(w, id, f);
				continue;
			}
			output__u64(out, off);
			output__u64(out, f->sz);
			off += f->sz;
		}
	}
	output__patch(out, 0, &w->header, sizeof(w->header));
}

/* ---- the object ---- */

static void perf_begin(struct stream_writer *base)
{
	struct perf_writer *w = perfwriter_of(base);

	if (w->pipe)
		perfwriter_begin_stream(w);
	else
		perfwriter_begin_file(w);
	if (!w->reader)
		perf_foreign__begin(base->out);
}

/* Rewrites the record itself, because the reader may have read other events since. */
static void perfwriter_rewrite_attr_record(uint8_t *data, size_t sz)
{
	uint32_t attr_sz;

	sz -= RECORD_HEADER_SZ;
	memcpy(&attr_sz, data + RECORD_HEADER_SZ + 4, sizeof(attr_sz));
	perf_attr__rewrite(data + RECORD_HEADER_SZ, attr_sz < sz ? attr_sz : sz);
}

static void perfwriter_pass_feature(struct perf_writer *w, const struct raw *raw)
{
	struct perf_feature f = { (uint8_t *)raw->data + 16, raw->sz - 16 };
	uint64_t id;

	if (raw->sz < 16)
		return;
	memcpy(&id, raw->data + RECORD_HEADER_SZ, sizeof(id));
	if (perfwriter_is_stale(id))
		return;
	output__write(w->base.out, raw->data, 16);
	perfwriter_write_feature(w, id < PERF_FEATURES ? (unsigned)id : 0, &f);
}

static void perf_pass(struct stream_writer *base, const struct raw *raw)
{
	struct perf_writer *w = perfwriter_of(base);
	uint32_t type = raw__type(raw);

	if (type == PERF_HEADER_ATTR && w->reader->pipe)
		perfwriter_write_changed(base->out, raw->data, raw->sz,
					 perfwriter_rewrite_attr_record);
	else if (type == PERF_HEADER_FEATURE)
		perfwriter_pass_feature(w, raw);
	else
		output__write(base->out, raw->data, raw->sz);
}

static void perf_convert(struct stream_writer *base, const struct item *item)
{
	base->dropped += !perf_foreign__write(base->out, item);
}

static void perf_end(struct stream_writer *base)
{
	struct perf_writer *w = perfwriter_of(base);

	if (!w->pipe)
		perfwriter_end_file(w);
	else if (w->reader && !w->reader->pipe && !w->has_features)
		perfwriter_write_features_as_records(w);
}

static void perfwriter_free(struct stream_writer *base)
{
	free(perfwriter_of(base));
}

static const struct stream_writer_ops ops = { perfwriter_free, perf_begin,   perf_pass,
					      perf_unwound,    perf_convert, perf_end };

struct stream_writer *perf_writer__new(const struct stream_writer_options *o)
{
	struct perf_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->base.ops = &ops;
	w->base.format = FORMAT_PERF;
	w->base.out = o->out;
	if (o->reader->format == FORMAT_PERF)
		w->reader = (struct perf_reader *)o->reader;
	w->pipe = !w->reader || w->reader->pipe || !output__can_patch(o->out);
	return &w->base;
}
