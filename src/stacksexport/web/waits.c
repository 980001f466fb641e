// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers where threads wait, which threads wake them, and how long spans take. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "stacksexport/web/answers.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/stackrows.h"

#define ROWS_DEFAULT "100"
#define ROWS_MAX     10000

/* Checks `limit`, and waits for the parts that the queries read. */
static int waits_prepare(struct web_request *r, struct answer *a)
{
	int64_t limit = 1;

	if (!query_params__find(&r->params, "limit"))
		query_params__set(&r->params, "limit", ROWS_DEFAULT);
	if (query_params__int(&r->params, "limit", &limit) != 0 || limit < 1 || limit > ROWS_MAX)
		return answer__fail(a, 400, "limit is a number from 1 to %d", ROWS_MAX);
	if (source__await(r->source, PART_WAITS) != 0)
		return answer__fail(a, 500, "cannot read the recording: %s", r->source->error);
	return view__await_stacks(r, a);
}

static int waits_show(struct web_request *r, const char *path, struct answer *a)
{
	int err;

	json_out__open(&a->json, '{');
	json_out__key(&a->json, "rows");
	err = stack_rows__show(r, path, a);
	json_out__close(&a->json, '}');
	return err;
}

int waits__answer(struct web_request *r, struct answer *a)
{
	int err = waits_prepare(r, a);

	return err ? err : waits_show(r, "sql/view/waits.sql", a);
}

/* Pairs wake-ups at the first request that needs them. */
static int waits_load_wakings(struct web_request *r, struct answer *a)
{
	struct source *s = r->source;
	duckdb_result result = { 0 };
	int err = 0;

	pthread_mutex_lock(&s->wakings_lock);
	if (!s->has_wakings)
		err = view__query(r, "sql/view/load_wakings.sql", &result, a);
	if (!err)
		s->has_wakings = true;
	pthread_mutex_unlock(&s->wakings_lock);
	duckdb_destroy_result(&result);
	return err;
}

int wakers__answer(struct web_request *r, struct answer *a)
{
	int err = waits_prepare(r, a);

	if (!err)
		err = waits_load_wakings(r, a);
	return err ? err : waits_show(r, "sql/view/wakers.sql", a);
}

int spans__answer(struct web_request *r, struct answer *a)
{
	char begins[24];
	int err = waits_prepare(r, a);

	if (err)
		return err;
	snprintf(begins, sizeof(begins), "%" PRId64, r->source->begins_ns);
	query_params__set(&r->params, "begins", begins);
	json_out__open(&a->json, '{');
	json_out__key(&a->json, "names");
	err = view__rows(r, "sql/view/span_names.sql", a);
	json_out__key(&a->json, "slowest");
	if (!err)
		err = view__rows(r, "sql/view/slow_spans.sql", a);
	json_out__close(&a->json, '}');
	return err;
}
