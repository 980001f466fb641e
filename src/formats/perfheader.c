// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the parts of a file before and after the records: header, events, features. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/perfdata.h"

static uint64_t perfheader_u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Copies bytes at an offset. If the input is not seekable, they must lie ahead, within
 * INPUT_RUN_MAX. Returns false if they are not available. */
static bool perfheader_fetch(struct perf_reader *r, uint64_t off, void *to, size_t sz)
{
	struct input *in = r->base.in;
	uint64_t ahead = off - input__off(in);
	const uint8_t *p;

	if (input__sz(in))
		return input__read_at(in, off, to, sz);
	if (off < input__off(in) || ahead > INPUT_RUN_MAX || sz > INPUT_RUN_MAX - ahead)
		return false;
	p = input__peek(in, ahead + sz);
	if (p)
		memcpy(to, p + ahead, sz);
	return p;
}

static void *perfheader_fetch_new(struct perf_reader *r, uint64_t off, uint64_t sz)
{
	void *data = sz <= INPUT_RUN_MAX ? malloc(sz + 1) : NULL;

	if (data && perfheader_fetch(r, off, data, sz))
		return data;
	free(data);
	return NULL;
}

int perf_reader__add_attr(struct perf_reader *r, const struct perf_attr_source *source)
{
	int err = perf_attrs__add(&r->attrs, source);
	const struct perf_event_attr *first = err ? NULL : &r->attrs.v[0].attr;

	r->base.clock = first && first->type == PERF_TYPE_SOFTWARE &&
			(first->config == PERF_COUNT_SW_CPU_CLOCK ||
			 first->config == PERF_COUNT_SW_TASK_CLOCK);
	return err;
}

static bool perfheader_add_attr(struct perf_reader *r, const uint8_t *entry)
{
	size_t attr_sz = r->header.attr_sz - sizeof(struct perf_file_section);
	uint64_t off = perfheader_u64_at(entry + attr_sz),
		 sz = perfheader_u64_at(entry + attr_sz + 8);
	void *ids = sz ? perfheader_fetch_new(r, off, sz) : NULL;
	struct perf_attr_source source = { entry, attr_sz, ids, ids ? sz / 8 : 0 };
	bool ok = (ids || !sz) && perf_reader__add_attr(r, &source) == 0;

	free(ids);
	return ok;
}

static void perfheader_read_attrs(struct perf_reader *r)
{
	struct perf_file_section s = r->header.attrs;
	uint64_t each = r->header.attr_sz;
	uint8_t *table;

	if (each < PERF_ATTR_MIN + sizeof(s) || each > PERF_ATTR_MAX || s.sz < each) {
		fault__set(&r->base.fault, 16, "no events are described");
		return;
	}
	table = perfheader_fetch_new(r, s.off, s.sz);
	for (uint64_t i = 0; table && i < s.sz / each && !r->base.fault.set; i++)
		if (!perfheader_add_attr(r, table + i * each))
			fault__set(&r->base.fault, s.off + i * each,
				   "the description of event %" PRIu64 " is damaged", i);
	if (!table)
		fault__set(&r->base.fault, s.off,
			   "the descriptions of events are missing, or follow the records of an "
			   "input that is not a file");
	free(table);
}

static bool perfheader_has_feature(const struct perf_reader *r, unsigned id)
{
	return r->header.features[id / 64] >> (id % 64) & 1;
}

static void perfheader_read_feature(struct perf_reader *r, unsigned id, const uint8_t *section)
{
	uint64_t off = perfheader_u64_at(section), sz = perfheader_u64_at(section + 8);

	r->features[id].data = perfheader_fetch_new(r, off, sz);
	r->features[id].sz = sz;
	if (!r->features[id].data)
		fault__set(&r->later, off, "the section of feature %u is cut off", id);
}

void perf_reader__read_features(struct perf_reader *r)
{
	unsigned cnt = 0;
	uint8_t *table;

	for (size_t i = 0; i < PERF_FEATURES / 64; i++)
		cnt += (unsigned)__builtin_popcountll(r->header.features[i]);
	r->has_features = true;
	table = perfheader_fetch_new(r, r->data_end, cnt * sizeof(struct perf_file_section));
	if (!table) {
		fault__set(&r->later, r->data_end, "the table of features is cut off");
		return;
	}
	for (unsigned id = 0, n = 0; id < PERF_FEATURES; id++)
		if (perfheader_has_feature(r, id))
			perfheader_read_feature(r, id, table + 16 * n++);
	free(table);
	if (r->features[PERF_FEAT_BUILD_ID].data)
		perf_build_ids__add(&r->build_ids, r->features[PERF_FEAT_BUILD_ID].data,
				    r->features[PERF_FEAT_BUILD_ID].sz);
}

static void perfheader_begin_file(struct perf_reader *r)
{
	struct perf_file_section data = r->header.data;

	perfheader_read_attrs(r);
	if (r->base.fault.set)
		return;
	if (perfheader_has_feature(r, PERF_FEAT_DIR_FORMAT))
		fault__set(&r->base.fault, 0,
			   "is a part of a recording in a folder (perf record --threads); make "
			   "one stream of it: perf inject -i FOLDER -o - | stacktrace");
	else if (data.off < sizeof(r->header) || data.sz > INT64_MAX - data.off)
		fault__set(&r->base.fault, 40, "the records are nowhere");
	else if (!input__skip(r->base.in, data.off - input__off(r->base.in)))
		fault__set(&r->base.fault, input__off(r->base.in), "ends before its first record");
	r->data_end = data.sz ? data.off + data.sz : UINT64_MAX;
	if (data.sz && input__sz(r->base.in) >= r->data_end)
		perf_reader__read_features(r);
}

void perf_reader__read_header(struct perf_reader *r)
{
	const uint8_t *p = input__peek(r->base.in, PERF_PIPE_HEADER_SZ);

	if (!p || perfheader_u64_at(p) != PERF_MAGIC) {
		fault__set(&r->base.fault, 0, "%s",
			   !p ? "ends in its header"
			   : perfheader_u64_at(p) == PERF_MAGIC_FOREIGN
				   ? "was recorded on a big-endian machine, which is not supported"
				   : "is not a perf.data file");
		return;
	}
	r->pipe = perfheader_u64_at(p + 8) == PERF_PIPE_HEADER_SZ;
	if (r->pipe) {
		input__step(r->base.in, PERF_PIPE_HEADER_SZ);
		return;
	}
	p = input__peek(r->base.in, sizeof(r->header));
	if (!p || perfheader_u64_at(p + 8) != sizeof(r->header)) {
		fault__set(&r->base.fault, 8, "%s",
			   p ? "has a header of unknown size" : "ends in its header");
		return;
	}
	memcpy(&r->header, p, sizeof(r->header));
	perfheader_begin_file(r);
}
