// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a profile in the file format of speedscope, as sampled profiles with weights. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonbuf.h"
#include "base/strtab.h"
#include "pprof/builder_index.h"

#define SCHEMA	  "https://www.speedscope.app/file-format-schema.json"
#define PIECE_MIN (64u << 10) /* what is written at once */

/* Speedscope takes frames with different numbers for different functions. */
struct speedscope_frame {
	UT_hash_handle hh;
	struct function_key key; /* file: the source file, or the module without one */
	uint32_t number;
};

struct speedscope {
	const struct builder *builder;
	struct builder_index index;
	struct speedscope_frame *frames;
	struct buf out; /* not written yet */
	FILE *file;
	int err;
};

static const char *speedscope_text_of(const struct speedscope *s, uint32_t id)
{
	return strtab__str(s->builder->strings, id, NULL);
}

static void speedscope_append_text(struct speedscope *s, const char *text)
{
	jsonbuf__str(&s->out, text, strlen(text));
}

static void builder_speedscope_flush_above(struct speedscope *s, size_t least)
{
	if (s->out.sz <= least)
		return;
	if (fwrite(s->out.data, 1, s->out.sz, s->file) != s->out.sz && !s->err)
		s->err = errno ? -errno : -EIO;
	if (buf__err(&s->out))
		s->err = buf__err(&s->out);
	buf__reset(&s->out);
}

/* ---- frames --------------------------------------------------------------------------------- */

static struct function_key builder_speedscope_frame_key(const struct speedscope *s,
							const Perftools__Profiles__Location *l,
							size_t line)
{
	const struct function_entry *f = s->index.functions[l->line[line]->function_id];
	struct function_key key = f->key;

	if (!key.file)
		key.file = s->index.mappings[l->mapping_id]->key.module;
	return key;
}

static void speedscope_add_frame(struct speedscope *s, const struct function_key *key)
{
	struct speedscope_frame *f;

	HASH_FIND(hh, s->frames, key, sizeof(*key), f);
	if (f)
		return;
	f = calloc(1, sizeof(*f));
	if (f) {
		f->key = *key;
		f->number = HASH_COUNT(s->frames);
		HASH_ADD(hh, s->frames, key, sizeof(f->key), f);
	}
	if (!f || !HASH_ADDED(f)) {
		free(f);
		s->err = -ENOMEM;
	}
}

static void builder_speedscope_collect_frames(struct speedscope *s)
{
	struct location_entry *l, *next;

	HASH_ITER (hh, s->builder->locations, l, next) {
		for (size_t i = 0; i < l->pb.n_line && !s->err; i++) {
			struct function_key key = builder_speedscope_frame_key(s, &l->pb, i);

			speedscope_add_frame(s, &key);
		}
	}
}

static void builder_speedscope_write_frames(struct speedscope *s)
{
	struct speedscope_frame *f, *next;
	const char *between = "";

	buf__str(&s->out, "\"shared\":{\"frames\":[");
	HASH_ITER (hh, s->frames, f, next) {
		buf__str(&s->out, between);
		buf__str(&s->out, "{\"name\":");
		speedscope_append_text(s, speedscope_text_of(s, f->key.name));
		if (f->key.file) {
			buf__str(&s->out, ",\"file\":");
			speedscope_append_text(s, speedscope_text_of(s, f->key.file));
		}
		buf__str(&s->out, "}");
		between = ",\n";
		builder_speedscope_flush_above(s, PIECE_MIN);
	}
	buf__str(&s->out, "]},\n");
}

/* ---- profiles ------------------------------------------------------------------------------- */

/* Samples have the leaf first, and lines of a location the innermost inlined function first. */
static void builder_speedscope_append_stack(struct speedscope *s, const struct sample_entry *sample)
{
	const char *between = "";

	for (size_t i = sample->pb.n_location_id; i-- > 0;) {
		const Perftools__Profiles__Location *l =
			&s->index.locations[sample->location_ids[i]]->pb;

		for (size_t j = l->n_line; j-- > 0;) {
			struct function_key key = builder_speedscope_frame_key(s, l, j);
			struct speedscope_frame *f;

			HASH_FIND(hh, s->frames, &key, sizeof(key), f);
			buf__str(&s->out, between);
			jsonbuf__int(&s->out, f ? f->number : 0);
			between = ",";
		}
	}
}

static void speedscope_append_list(struct speedscope *s, size_t value, bool stacks)
{
	struct sample_entry *sample, *next;
	const char *between = "";

	HASH_ITER (hh, s->builder->samples, sample, next) {
		if (sample->values[value] <= 0)
			continue;
		buf__str(&s->out, between);
		if (stacks) {
			buf__str(&s->out, "[");
			builder_speedscope_append_stack(s, sample);
			buf__str(&s->out, "]");
		} else {
			jsonbuf__int(&s->out, sample->values[value]);
		}
		between = stacks ? ",\n" : ",";
		builder_speedscope_flush_above(s, PIECE_MIN);
	}
}

static int64_t builder_speedscope_sum_of(const struct builder *b, size_t value)
{
	struct sample_entry *sample, *next;
	int64_t sum = 0;

	HASH_ITER (hh, b->samples, sample, next) {
		if (sample->values[value] > 0 &&
		    __builtin_add_overflow(sum, sample->values[value], &sum))
			return INT64_MAX;
	}
	return sum;
}

static void speedscope_write_profile(struct speedscope *s, size_t value)
{
	const struct builder *b = s->builder;
	const char *unit = speedscope_text_of(s, b->units[value]);

	buf__str(&s->out, "{\"type\":\"sampled\",\"name\":");
	speedscope_append_text(s, speedscope_text_of(s, b->types[value]));
	buf__str(&s->out, ",\"unit\":");
	speedscope_append_text(s, strcmp(unit, "count") == 0 ? "none" : unit);
	buf__str(&s->out, ",\"startValue\":0,\"endValue\":");
	jsonbuf__int(&s->out, builder_speedscope_sum_of(b, value));
	buf__str(&s->out, ",\n\"samples\":[");
	speedscope_append_list(s, value, true);
	buf__str(&s->out, "],\n\"weights\":[");
	speedscope_append_list(s, value, false);
	buf__str(&s->out, "]}");
}

static void speedscope_write_all(struct speedscope *s)
{
	buf__str(&s->out, "{\"$schema\":\"" SCHEMA "\",\"exporter\":\"stacksexport\",\n");
	builder_speedscope_write_frames(s);
	buf__str(&s->out, "\"profiles\":[\n");
	for (size_t i = BUILDER_VALUE_CNT; i-- > 0;) {
		speedscope_write_profile(s, i);
		buf__str(&s->out, i ? ",\n" : "");
	}
	buf__str(&s->out, "]}\n");
	builder_speedscope_flush_above(s, 0);
}

static void builder_speedscope_free_frames(struct speedscope *s)
{
	struct speedscope_frame *f, *next;

	HASH_ITER (hh, s->frames, f, next) {
		HASH_DEL(s->frames, f);
		free(f);
	}
}

int builder__write_speedscope(struct builder *b, const char *path)
{
	struct speedscope s = { .builder = b };

	s.err = builder_index__init(&s.index, b);
	s.err = b->err ? b->err : s.err;
	if (!s.err)
		builder_speedscope_collect_frames(&s);
	s.file = s.err ? NULL : fopen(path, "we");
	if (!s.err && !s.file)
		s.err = -errno;
	errno = 0;
	if (s.file)
		speedscope_write_all(&s);
	if (s.file && fclose(s.file) != 0 && !s.err)
		s.err = errno ? -errno : -EIO;
	builder_speedscope_free_frames(&s);
	builder_index__free(&s.index);
	buf__free(&s.out);
	return s.err;
}
