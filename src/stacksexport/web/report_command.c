// SPDX-License-Identifier: GPL-2.0-or-later
/* `stacksexport report`: writes the page as one file that includes the answers to its requests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/commands.h"
#include "stacksexport/grouping.h"
#include "stacksexport/outfile.h"
#include "stacksexport/progress.h"
#include "stacksexport/topbase.h"
#include "stacksexport/web/answers.h"
#include "stacksexport/web/assets.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/metricsums.h"
#include "stacksexport/web/stackrows.h"
#include "stacksexport/web/svg.h"

#define REPORT_MAX   10000000u	/* bytes of the file */
#define KEY_MAX	     512u	/* bytes of an answer's key */
#define SLICED_MAX   (1u << 20) /* of a flame graph with its slices; else stored without them */
#define STACKS_MAX   1000
#define SLICES	     "100"
#define DEFAULT_FILE "report.html"

static const char placeholder[] = "<script type=\"application/json\" id=\"data\">{}</script>";
static const char placeholder_end[] = "{}</script>";

/* One report that is being written. */
struct report_page {
	struct view view;
	struct buf data; /* the object of answers */
	const char *by;	 /* what flame graphs are split by, too; NULL: nothing */
	bool by_total;	 /* order of functions */
	size_t page_sz;	 /* of the page without answers */
	size_t stack_cnt;
};

/* The parameters of a request; NULL: none. */
struct report_request {
	const char *name;
	struct query_param params[2];
};

/* Writes "api/flame?metric=cpu", as the page requests it: the parameters sorted by name. */
static void report_append_key(struct buf *data, const struct report_request *q)
{
	char key[256];
	int sz = snprintf(key, sizeof(key), "api/%s", q->name);

	for (size_t i = 0; i < 2 && q->params[i].name; i++)
		sz += snprintf(key + sz, sizeof(key) - (size_t)sz, "%s%s=%s", i ? "&" : "?",
			       q->params[i].name, q->params[i].value);
	json_out__key(data, key);
}

/* Answers a request like the server. */
static void report_answer(struct report_page *r, const struct report_request *q, struct answer *a)
{
	struct web_request request = { .view = &r->view, .source = &r->view.sources[0] };

	*a = (struct answer){ 0 };
	for (size_t i = 0; i < 2 && q->params[i].name; i++)
		query_params__set(&request.params, q->params[i].name, q->params[i].value);
	endpoint__answer(endpoint__find(q->name), &request, a);
}

static void report_answer_free(struct answer *a)
{
	buf__free(&a->json);
	buf__free(&a->error);
}

/* Returns 0 or -EINVAL (already logged). */
static int report_answer_check(const struct report_request *q, const struct answer *a)
{
	if (a->status == 200)
		return 0;
	log__error("%s: %.*s", q->name, (int)a->error.sz, (const char *)a->error.data);
	return -EINVAL;
}

/* Escapes "<" as "\u003c", so that no text of an answer can end the element that contains it. */
static void report_append_escaped(struct buf *data, const struct buf *json)
{
	size_t from = 0;

	for (size_t i = 0; i < json->sz; i++) {
		if (json->data[i] != '<')
			continue;
		buf__append(data, json->data + from, i - from);
		buf__str(data, "\\u003c");
		from = i + 1;
	}
	buf__append(data, json->data + from, json->sz - from);
}

static size_t report_escaped_sz(const struct buf *json)
{
	size_t sz = json->sz;

	for (size_t i = 0; i < json->sz; i++)
		if (json->data[i] == '<')
			sz += sizeof("\\u003c") - sizeof("<");
	return sz;
}

/* Adds an answer if it fits. */
static bool report_put(struct report_page *r, const struct report_request *q,
		       const struct buf *json)
{
	if (r->page_sz + r->data.sz + KEY_MAX + report_escaped_sz(json) > REPORT_MAX)
		return false;
	report_append_key(&r->data, q);
	report_append_escaped(&r->data, json);
	return true;
}

static int report_add(struct report_page *r, const struct report_request *q)
{
	struct answer a;
	int err;

	report_answer(r, q, &a);
	err = report_answer_check(q, &a);
	if (!err)
		report_put(r, q, &a.json);
	report_answer_free(&a);
	return err;
}

/* Adds the flame graph with its slices if they fit. The page requests it without slices. */
static int report_add_flame(struct report_page *r, const char *metric)
{
	struct report_request plain = { "flame", { { "metric", metric } } };
	struct report_request sliced = { "flame", { { "metric", metric }, { "slices", SLICES } } };
	struct answer a;
	bool fits;

	report_answer(r, &sliced, &a);
	fits = a.status == 200 && a.json.sz <= SLICED_MAX && report_put(r, &plain, &a.json);
	report_answer_free(&a);
	return fits ? 0 : report_add(r, &plain);
}

/* Adds the functions of a metric in the order of --sort. The page requests them without it. */
static int report_add_functions(struct report_page *r, const char *metric)
{
	struct report_request plain = { "functions", { { "metric", metric } } };
	struct report_request sorted = { "functions",
					 { { "metric", metric }, { "sort", "total" } } };
	struct answer a;
	int err;

	if (!r->by_total)
		return report_add(r, &plain);
	report_answer(r, &sorted, &a);
	err = report_answer_check(&sorted, &a);
	if (!err)
		report_put(r, &plain, &a.json);
	report_answer_free(&a);
	return err;
}

static int report_add_metric(struct report_page *r, const char *metric)
{
	struct report_request split = { "flame", { { "metric", metric }, { "root", r->by } } };
	int err = report_add_flame(r, metric);

	if (!err && r->by)
		err = report_add(r, &split);
	return err ? err : report_add_functions(r, metric);
}

/* Adds what the page shows first. */
static void report_add_state(struct report_page *r)
{
	json_out__key(&r->data, "state");
	json_out__open(&r->data, '{');
	json_out__key_text(&r->data, "root", r->by ? r->by : "none");
	json_out__close(&r->data, '}');
}

/* ---- stacks --------------------------------------------------------------------------------- */

static int report_add_stack(struct report_page *r, const char *text, size_t sz)
{
	char id[64];
	struct report_request q = { "stack", { { "id", id } } };
	struct stack_ids ids;

	if (sz >= sizeof(id) || !stack_ids__parse(&ids, text, sz) || r->stack_cnt++ >= STACKS_MAX)
		return 0;
	memcpy(id, text, sz);
	id[sz] = '\0';
	return report_add(r, &q);
}

/* Adds the stacks to which an answer refers: "stack":"ID", "sleep_stack":"ID". Other texts cannot
 * look like this, because their quotes are escaped. */
static int report_add_stacks(struct report_page *r, const struct report_request *q)
{
	static const char mark[] = "stack\":\"";
	struct answer a;
	const char *at, *end;
	int err;

	report_answer(r, q, &a);
	err = report_answer_check(q, &a);
	if (err)
		a.json.sz = 0;
	else
		report_put(r, q, &a.json);
	at = (const char *)a.json.data;
	end = at + a.json.sz;
	while (!err && at && (at = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1))) {
		const char *quote;

		at += sizeof(mark) - 1;
		quote = memchr(at, '"', (size_t)(end - at));
		err = quote ? report_add_stack(r, at, (size_t)(quote - at)) : 0;
	}
	report_answer_free(&a);
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static const struct report_request simple[] = {
	{ "recording", { { 0 } } },
	{ "timeline", { { "buckets", "800" } } },
	{ "heatmap", { { 0 } } },
};

static const struct report_request with_stacks[] = {
	{ "waits", { { 0 } } },
	{ "wakers", { { 0 } } },
	{ "spans", { { 0 } } },
};

/* Returns true if the recording has the metric, by the answer of api/recording. */
static bool report_has_metric(const struct buf *recording, const char *id)
{
	char text[64];
	int sz = snprintf(text, sizeof(text), "{\"id\":\"%s\",\"label\"", id);

	return memmem(recording->data, recording->sz, text, (size_t)sz) != NULL;
}

static int report_add_metrics(struct report_page *r)
{
	struct answer recording;
	int err = 0;

	report_answer(r, &simple[0], &recording);
	for (const struct metric *m = metrics; m->id && !err; m++)
		if (recording.status == 200 && report_has_metric(&recording.json, m->id))
			err = report_add_metric(r, m->id);
	report_answer_free(&recording);
	return err;
}

/* Waits for all parts first, so that api/recording has their facts. */
static int report_await(struct report_page *r)
{
	struct source *s = &r->view.sources[0];

	for (int part = 0; part < PART_CNT; part++)
		if (source__await(s, part) != 0) {
			log__error("cannot read the recording: %s", s->error);
			return -EIO;
		}
	return 0;
}

static int report_fill(struct report_page *r)
{
	const struct asset *page = asset__find("report.html");
	int err = report_await(r);

	r->page_sz = page ? (size_t)(page->end - page->data) : 0;
	json_out__open(&r->data, '{');
	report_add_state(r);
	for (size_t i = 0; i < sizeof(simple) / sizeof(*simple) && !err; i++)
		err = report_add(r, &simple[i]);
	if (!err)
		err = report_add_metrics(r);
	for (size_t i = 0; i < sizeof(with_stacks) / sizeof(*with_stacks) && !err; i++)
		err = report_add_stacks(r, &with_stacks[i]);
	json_out__close(&r->data, '}');
	return err ? err : buf__err(&r->data);
}

static int report_write(const struct report_page *r, const char *path)
{
	const struct asset *page = asset__find("report.html");
	const char *start = page ? (const char *)page->data : "";
	size_t sz = page ? (size_t)(page->end - page->data) : 0;
	const char *at = memmem(start, sz, placeholder, sizeof(placeholder) - 1), *rest;

	if (!at) {
		log__error("this program was built without the page of a report");
		return -ENOENT;
	}
	at += strlen(placeholder) - strlen(placeholder_end);
	rest = at + strlen("{}");
	return outfile__write(
		path,
		(const struct outfile_piece[]){ { start, (size_t)(at - start) },
						{ r->data.data, r->data.sz },
						{ rest, (size_t)(start + sz - rest) } },
		3);
}

static int report_write_svg(struct report_page *r, const char *path)
{
	struct web_request request = { .view = &r->view, .source = &r->view.sources[0] };
	struct answer a = { 0 };
	int err = view__select(&request, &a);

	if (!err)
		err = flame__draw(&request, svg__show, &a);
	if (err)
		log__error("cannot draw %s: %.*s", path, (int)a.error.sz,
			   a.error.sz ? (const char *)a.error.data : "");
	else
		err = outfile__write(path, &(struct outfile_piece){ a.json.data, a.json.sz }, 1);
	report_answer_free(&a);
	return err;
}

static void report_say(const char *path)
{
	progress__end();
	if (strcmp(path, "-") != 0)
		log__info("wrote %s; open it in a browser", path);
}

int report__run(const struct export_options *o)
{
	struct report_page r = { .by = o->by, .by_total = top_base__by_total(o) };
	const char *output = o->output ? o->output : DEFAULT_FILE;
	int status, err = 0;

	if (grouping__check(o) != STATUS_OK || top_base__check_order(o) != STATUS_OK)
		return STATUS_USAGE;
	status = view__open(&r.view, o);
	if (status == STATUS_OK)
		err = report_fill(&r);
	if (status == STATUS_OK && !err)
		err = report_write(&r, output);
	if (status == STATUS_OK && !err && o->svg)
		err = report_write_svg(&r, o->svg);
	if (status == STATUS_OK && !err)
		report_say(output);
	view__close(&r.view);
	buf__free(&r.data);
	return err ? STATUS_FAILED : status;
}
