// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/diffprofile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "pprof/builder.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/outfile.h"
#include "stacksexport/web/rootlabels.h"

/* The columns of samples_of_stacks.sql and waits_of_stacks.sql. */
enum {
	COLUMN_LABEL,
	COLUMN_USTACK,
	COLUMN_KSTACK,
	COLUMN_VALUE,
	COLUMN_BLOCKED,
	COLUMN_RUNNABLE,
	COLUMN_EVENTS
};

struct diff_profile {
	struct builder *builder;
	const struct stackset *stacks;
	double scale;		   /* of the side that is added */
	struct strtab *texts;	   /* of roots */
	struct root_labels labels; /* of the side that is added; empty: stacks have no root */
};

static int64_t diffprofile_scaled(int64_t value, double scale)
{
	double v = round((double)value * scale);

	return v >= (double)INT64_MAX ? INT64_MAX : v <= (double)INT64_MIN ? INT64_MIN : (int64_t)v;
}

static void diffprofile_add_frames(struct diff_profile *p, const struct cells *ids, idx_t row)
{
	uint64_t id = cells__is_null(ids, row) ? 0 : ((const uint64_t *)ids->data)[row];
	size_t cnt;
	const uint32_t *frames = stackset__find(p->stacks, id, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		const struct model_frame *f = stackset__frame_at(p->stacks, frames[i]);
		const struct function *function = stackset__function(p->stacks, f->function);
		struct named_frame named = {
			.name = stackset__text(p->stacks, function->name),
			.module = stackset__text(p->stacks, f->path),
			.build_id = stackset__text(p->stacks, f->build_id),
			.address = f->address,
			.offset = f->offset,
			.file_offset = f->file_offset,
			.has_file_offset = f->has_file_offset,
		};

		builder__frame(p->builder, &named);
	}
}

/* Adds what the stack belongs to, as its root. */
static void diffprofile_add_root(struct diff_profile *p, const struct cells *labels, idx_t row)
{
	static const char module[] = "[label]";
	struct named_frame f = { .module = { module, sizeof(module) - 1 } };

	if (!p->labels.keys.cnt)
		return;
	f.name.s = strtab__str(p->texts,
			       root_labels__text(&p->labels, (uint32_t)cells__int(labels, row)),
			       &f.name.sz);
	builder__frame(p->builder, &f);
}

static void diffprofile_add_row(struct diff_profile *p, duckdb_data_chunk chunk, idx_t row)
{
	int64_t sum = 0, values[BUILDER_VALUE_CNT];
	struct cells c;

	for (idx_t i = COLUMN_VALUE; i <= COLUMN_RUNNABLE; i++) {
		c = cells__on(duckdb_data_chunk_get_vector(chunk, i));
		sum = trie__add(sum, cells__int(&c, row));
	}
	c = cells__on(duckdb_data_chunk_get_vector(chunk, COLUMN_EVENTS));
	values[0] = diffprofile_scaled(cells__int(&c, row), p->scale);
	values[1] = diffprofile_scaled(sum, p->scale);
	c = cells__on(duckdb_data_chunk_get_vector(chunk, COLUMN_KSTACK));
	diffprofile_add_frames(p, &c, row);
	c = cells__on(duckdb_data_chunk_get_vector(chunk, COLUMN_USTACK));
	diffprofile_add_frames(p, &c, row);
	c = cells__on(duckdb_data_chunk_get_vector(chunk, COLUMN_LABEL));
	diffprofile_add_root(p, &c, row);
	builder__sample(p->builder, values);
}

static void diffprofile_add_rows(struct diff_profile *p, duckdb_result *result)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		for (idx_t row = 0; row < duckdb_data_chunk_get_size(chunk); row++)
			diffprofile_add_row(p, chunk, row);
		duckdb_destroy_data_chunk(&chunk);
	}
}

/* Must not hold the model's lock. */
static int diffprofile_add_side(struct diff_profile *p, struct sides *s, enum diff_side side)
{
	struct web_request *r = &s->of[side].request;
	struct metric_rows rows = { 0 };
	struct answer a = { 0 };
	int err = metric__read(r, s->metric, &rows, &a);

	if (err)
		log__error("%.*s", (int)a.error.sz, a.error.sz ? (const char *)a.error.data : "");
	if (!err && s->by)
		err = root_labels__read(&p->labels, p->texts, &rows.labels);
	p->scale = side == SIDE_A ? -1 : s->scale;
	builder__of_base(p->builder, side == SIDE_A);
	pthread_mutex_lock(&r->view->model.lock);
	if (!err) {
		diffprofile_add_rows(p, &rows.samples);
		diffprofile_add_rows(p, &rows.waits);
	}
	pthread_mutex_unlock(&r->view->model.lock);
	root_labels__free(&p->labels);
	metric_rows__free(&rows);
	buf__free(&a.error);
	return err;
}

static int diffprofile_write_file(struct builder *b, const char *path)
{
	struct outfile out = { 0 };
	int err = outfile__open(&out, path, NULL);

	if (!err) {
		err = builder__write(b, out.tmp);
		if (err)
			log__error("cannot write %s: %s", path, strerror(-err));
	}
	if (!err)
		err = outfile__commit(&out);
	if (!err && out.path)
		log__info("wrote %s; open it with: pprof -http=: %s", out.path, out.path);
	outfile__free(&out);
	return err;
}

int diff_profile__write(struct sides *s, const char *path)
{
	struct model *model = &s->of[SIDE_A].request.view->model;
	char name[32];
	struct builder_options options = { .value_names = { "events", name },
					   .binaries = model->binaries };
	struct diff_profile p = { .stacks = model->stacks, .texts = strtab__new() };
	int err = 0;

	snprintf(name, sizeof(name), "%s%s", s->metric->id,
		 strcmp(s->metric->unit, "ns") == 0	 ? "_time"
		 : strcmp(s->metric->unit, "bytes") == 0 ? "_bytes"
							 : "");
	p.builder = p.texts ? builder__new(&options) : NULL;
	if (!p.builder) {
		log__error("out of memory");
		err = -ENOMEM;
	}
	for (int side = 0; side < SIDE_CNT && !err; side++)
		err = diffprofile_add_side(&p, s, side);
	if (!err)
		err = diffprofile_write_file(p.builder, path);
	builder__free(p.builder);
	strtab__free(p.texts);
	return err;
}
