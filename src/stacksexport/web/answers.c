// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/answers.h"

#include <errno.h>
#include <string.h>

#include "stacksexport/web/flame.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/slices.h"

static int progress__answer(struct web_request *r, struct answer *a)
{
	json_out__open(&a->json, '{');
	json_out__key(&a->json, "busy");
	running__show(&r->view->running, &a->json);
	json_out__close(&a->json, '}');
	return 0;
}

static int cancel__answer(struct web_request *r, struct answer *a)
{
	running__cancel(&r->view->running);
	json_out__open(&a->json, '{');
	json_out__close(&a->json, '}');
	return 0;
}

static int flame_or_slices__answer(struct web_request *r, struct answer *a)
{
	return query_params__find(&r->params, "slices") ? slices__answer(r, a)
							: flame__answer(r, a);
}

static const struct endpoint endpoints[] = {
	{ "recording", recording__answer, false, true },
	{ "timeline", timeline__answer, false, true },
	{ "heatmap", heatmap__answer, false, true },
	{ "flame", flame_or_slices__answer, false, true },
	{ "functions", functions__answer, false, true },
	{ "sandwich", sandwich__answer, false, true },
	{ "diff", diff__answer, false, false },
	{ "changes", changes__answer, false, false },
	{ "source", source__answer, false, true },
	{ "waits", waits__answer, false, true },
	{ "wakers", wakers__answer, false, true },
	{ "spans", spans__answer, false, true },
	{ "queries", queries__answer, false, false },
	{ "query", query__answer, false, false },
	{ "sql", sql__answer, true, false },
	{ "stack", stack__answer, false, false },
	{ "progress", progress__answer, false, false },
	{ "cancel", cancel__answer, true, false },
};

const struct endpoint *endpoint__find(const char *name)
{
	for (size_t i = 0; i < sizeof(endpoints) / sizeof(*endpoints); i++)
		if (strcmp(endpoints[i].name, name) == 0)
			return &endpoints[i];
	return NULL;
}

void endpoint__answer(const struct endpoint *e, struct web_request *r, struct answer *a)
{
	int err = e->selects ? view__select(r, a) : 0;

	if (!err)
		err = e->answer(r, a);
	if (!err)
		err = buf__err(&a->json);
	if (!err)
		a->status = 200;
	else if (!a->error.sz)
		answer__fail(a, 500, "%s", strerror(-err));
}
