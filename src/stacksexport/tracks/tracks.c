// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/tracks/tracks.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "stacksexport/grouping.h"
#include "stacksexport/duck/share.h"
#include "stacksexport/duck/sources.h"

static bool tracks_frames_have(const void *frames, uint64_t key)
{
	return builder__is_kept(frames, key);
}

static void tracks_frames_add(const struct named_frame *frame, void *frames)
{
	builder__frame(frames, frame);
}

static void tracks_frames_keep(void *frames, uint64_t key)
{
	builder__keep(frames, key);
}

static void tracks_take_kind(const char *s, size_t sz, void *happened)
{
	*(uint64_t *)happened |= sources__kind(s, sz);
}

/* Returns false if the query names kinds of events and none of them happened. */
static bool tracks_may_have_rows(const char *path, uint64_t happened)
{
	char *text = share__read(path);
	uint64_t reads = text ? sources__read_by(text) : 0;

	free(text);
	return !reads || (reads & happened);
}

static int tracks_run(struct tracks *t, const char *const *paths)
{
	const struct stack_sink sink = { tracks_frames_have, tracks_frames_add, tracks_frames_keep,
					 t->frames };
	uint64_t happened = 0;
	int status = STATUS_OK;

	if (request__each_text(&t->request, "sql/kinds.sql", tracks_take_kind, &happened) != 0)
		return STATUS_FAILED;
	for (; *paths && status == STATUS_OK; paths++) {
		struct tracequery *q = &t->queries[t->query_cnt];

		if (!tracks_may_have_rows(*paths, happened))
			continue;
		assert(t->query_cnt < TRACKS_QUERY_MAX);
		*q = (struct tracequery){ .path = *paths, .shipped = true };
		status = tracequery__run(q, &t->request, (int)t->query_cnt++, &sink);
	}
	return status;
}

static int tracks_fill(struct tracks *t, const char *const *paths)
{
	int64_t drawn = 0, left_out = 0, *const fields[] = { &drawn, &left_out, &t->first_ns };
	struct db *db = &t->request.db;
	int status;

	if (db__set_variable(db, "trace_takes_samples", duckdb_create_bool(true)) != 0 ||
	    db__script(db, "sql/trace/tables.sql") != 0)
		return STATUS_FAILED;
	status = tracks_run(t, paths);
	if (status == STATUS_OK && (request__lost(&t->request, &t->lost) != 0 ||
				    db__read_integers(db, "sql/trace/first.sql", fields, 3) != 0))
		status = STATUS_FAILED;
	if (status == STATUS_OK && left_out)
		log__warn("%" PRId64 " events left out: their times or ids are wrong", left_out);
	return status == STATUS_OK && !drawn ? request__empty(&t->request) : status;
}

int tracks__open(struct tracks *t, const struct export_options *o, const char *const *paths)
{
	struct builder_options frames = { .value_names = { "count", "time" },
					  .inlines = o->inlines };
	int status;

	*t = (struct tracks){ .first_ns = 0 };
	status = request__open(&t->request, o);
	if (status != STATUS_OK)
		return status;
	if (grouping__use(&t->request.db, o->by) != 0)
		return STATUS_FAILED;
	frames.binaries = t->request.binaries;
	t->frames = builder__new(&frames);
	if (!t->frames) {
		log__error("out of memory");
		return STATUS_FAILED;
	}
	return tracks_fill(t, paths);
}

void tracks__close(struct tracks *t)
{
	for (size_t i = 0; i < t->query_cnt; i++)
		tracequery__free(&t->queries[i]);
	builder__free(t->frames);
	request__close(&t->request);
}
