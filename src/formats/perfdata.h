/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: files and streams of the perf tool. What reader and writer share. Private to
 * src/formats. */
#ifndef FORMATS_PERFDATA_H
#define FORMATS_PERFDATA_H

#include <zstd.h>

#include "base/buf.h"
#include "formats/perfattr.h"
#include "formats/perfbuildid.h"
#include "formats/stream.h"

struct perf_feature {
	uint8_t *data; /* NULL: the file does not have it */
	size_t sz;
};

/* PERF_RECORD_COMPRESSED: one stream of zstd in many records, and records across their ends. */
struct perf_inflate {
	ZSTD_DStream *stream; /* NULL: nothing was compressed yet */
	ZSTD_inBuffer in;     /* of the record in hand */
	struct buf plain;
	size_t at; /* in plain: the next record */
	bool busy; /* there is more in the record in hand */
};

struct perf_reader {
	struct stream_reader base;
	bool pipe; /* a stream: attrs and features are records */
	struct perf_file_header header;
	struct perf_attrs attrs;
	struct perf_feature features[PERF_FEATURES]; /* of a file */
	bool has_features;			     /* they were read */
	struct fault later;			     /* of these: records come first */
	struct perf_build_ids build_ids;
	struct perf_inflate inflate;
	uint64_t data_end; /* offset; UINT64_MAX: where the input ends */
	size_t step;	   /* bytes of the record that was handed out last */
};

struct stream_reader *perf_reader__new(struct input *);

/* An event more. 0 or -errno, see perf_attrs__add(). */
int perf_reader__add_attr(struct perf_reader *, const struct perf_attr_source *);

/* All that stands before the records. */
void perf_reader__read_header(struct perf_reader *);

/* The sections of a file, before or behind its records; has_features says whether it went well. */
void perf_reader__read_features(struct perf_reader *);

struct stream_writer *perf_writer__new(const struct stream_writer_options *);

/* In a copy of the section EVENT_DESC: the events' attrs as perf_attr__rewrite() makes them. */
void perf_event_desc__rewrite(uint8_t *data, size_t sz);

/* Whose record that is; NULL: there are no events. */
const struct perf_attr *perf_reader__attr(struct perf_reader *, const struct raw *);

static inline uint32_t raw__type(const struct raw *raw)
{
	uint32_t type;

	__builtin_memcpy(&type, raw->data, sizeof(type));
	return type;
}

#endif
