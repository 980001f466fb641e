/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data, the files and streams of the perf tool: definitions that reader and writer share.
 * Private to src/formats. */
#ifndef FORMATS_PERFDATA_H
#define FORMATS_PERFDATA_H

#include <zstd.h>

#include "base/buf.h"
#include "formats/perfattr.h"
#include "formats/perfbuildid.h"
#include "formats/stream.h"

struct perf_feature {
	uint8_t *data; /* NULL if the file does not have it */
	size_t sz;
};

/* PERF_RECORD_COMPRESSED: one zstd stream in many records. A decompressed record may span several
 * of them. */
struct perf_inflate {
	ZSTD_DStream *stream; /* NULL before the first compressed record */
	ZSTD_inBuffer in;     /* data of the current record */
	struct buf plain;
	size_t at; /* offset of the next record in plain */
	bool busy; /* the current record has more data */
};

struct perf_reader {
	struct stream_reader base;
	bool pipe; /* a stream, in which attrs and features are records */
	struct perf_file_header header;
	struct perf_attrs attrs;
	struct perf_feature features[PERF_FEATURES]; /* sections of a file; unused for a stream */
	bool has_features;			     /* features were read */
	struct fault later; /* in the features; reported after the records */
	struct perf_build_ids build_ids;
	struct perf_inflate inflate;
	uint64_t data_end; /* offset; UINT64_MAX: at the end of the input */
	size_t step;	   /* bytes of the record returned last */
};

struct stream_reader *perf_reader__new(struct input *);

/* Adds an event. Returns 0 or -errno like perf_attrs__add(). */
int perf_reader__add_attr(struct perf_reader *, const struct perf_attr_source *);

/* Reads everything before the records. */
void perf_reader__read_header(struct perf_reader *);

/* Reads the feature sections of a file. Call before or after reading the records. Sets
 * has_features; a fault is stored in `later`. */
void perf_reader__read_features(struct perf_reader *);

struct stream_writer *perf_writer__new(const struct stream_writer_options *);

/* Applies perf_attr__rewrite() to the events in a copy of the section EVENT_DESC. */
void perf_event_desc__rewrite(uint8_t *data, size_t sz);

/* Returns the event of the record, or NULL if there are no events. */
const struct perf_attr *perf_reader__attr(struct perf_reader *, const struct raw *);

static inline uint32_t raw__type(const struct raw *raw)
{
	uint32_t type;

	__builtin_memcpy(&type, raw->data, sizeof(type));
	return type;
}

#endif
