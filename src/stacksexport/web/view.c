// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/sourcethread.h"

/* The recordings are arguments or options -r; none: the newest one. */
static int view_open_source(struct view *v, const char *recording)
{
	struct export_options o = *v->options;

	o.follows = o.shows_times = true;
	if (recording) {
		o.recordings[0] = recording;
		o.recording_cnt = 1;
	}
	return source__open(&v->sources[v->source_cnt++], &o, &v->running, &v->model);
}

int view__open(struct view *v, const struct export_options *o)
{
	int status;

	*v = (struct view){ .options = o };
	if (running__init(&v->running) != 0 || model__init(&v->model, o->binary) != 0) {
		log__error("out of memory");
		return STATUS_FAILED;
	}
	status = view_open_source(v, o->argument_cnt ? o->arguments[0] : NULL);
	for (size_t i = 1; i < o->argument_cnt && status == STATUS_OK; i++)
		status = view_open_source(v, o->arguments[i]);
	return status;
}

void view__close(struct view *v)
{
	running__stop(&v->running);
	for (size_t i = 0; i < v->source_cnt; i++)
		source__close(&v->sources[i]);
	model__free(&v->model);
	running__destroy(&v->running);
}

int answer__fail(struct answer *a, int status, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	a->status = status;
	buf__reset(&a->error);
	buf__str(&a->error, text);
	return -EINVAL;
}

/* Converts a time of the request from unix time. */
static int view_select_time(struct web_request *r, const char *name, int64_t otherwise,
			    char text[24])
{
	int64_t ns = otherwise - r->source->begins_ns;
	int err = query_params__int(&r->params, name, &ns);

	if (!err && __builtin_add_overflow(ns, r->source->begins_ns, &ns))
		err = -EINVAL;
	if (err)
		return err;
	snprintf(text, 24, "%" PRId64, ns);
	return query_params__set(&r->params, name, text);
}

static bool view_has_number(const struct query_params *p, const char *name)
{
	int64_t n = 0;

	return query_params__int(p, name, &n) == 0 && n >= INT32_MIN && n <= INT32_MAX;
}

int view__select(struct web_request *r, struct answer *a)
{
	int err = source__await(r->source, PART_TOTALS);

	if (err)
		return answer__fail(a, 500, "cannot read the recording: %s", r->source->error);
	/* Clocks count in ns; an interval ends after its last event. */
	if (view_select_time(r, "from", r->source->begins_ns, r->from) != 0 ||
	    view_select_time(r, "to", r->source->ends_ns + 1, r->to) != 0)
		return answer__fail(a, 400, "from and to are integers: ns since the beginning");
	if (!view_has_number(&r->params, "tgid") || !view_has_number(&r->params, "pid"))
		return answer__fail(a, 400, "tgid and pid are integers");
	return 0;
}

int view__await_stacks(struct web_request *r, struct answer *a)
{
	return source__await(r->source, PART_STACKS) == 0
		       ? 0
		       : answer__fail(a, 500, "cannot read the stacks: %s", r->source->error);
}

int view__query(struct web_request *r, const char *path, duckdb_result *out, struct answer *a)
{
	struct source_query query = { .path = path, .params = &r->params };
	int err = source__run(r->source, &query, out, &a->error);

	if (err)
		a->status = 500;
	return err;
}

int view__rows(struct web_request *r, const char *path, struct answer *a)
{
	duckdb_result result;
	int err = view__query(r, path, &result, a);

	if (!err)
		json_out__rows(&a->json, &result, false);
	duckdb_destroy_result(&result);
	return err;
}
