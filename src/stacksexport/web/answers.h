/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the page (docs/view-api.md) and the functions that answer them. */
#ifndef STACKSEXPORT_WEB_ANSWERS_H
#define STACKSEXPORT_WEB_ANSWERS_H

#include "stacksexport/web/view.h"

/* Appends JSON to the answer. Returns 0 or -errno; for -EINVAL, the answer has the error. */
typedef int answer_fn(struct web_request *, struct answer *);

answer_fn recording__answer;
answer_fn timeline__answer;
answer_fn heatmap__answer;
answer_fn functions__answer;
answer_fn stack__answer;
answer_fn waits__answer;
answer_fn wakers__answer;
answer_fn spans__answer;
answer_fn sandwich__answer;
answer_fn diff__answer;
answer_fn changes__answer;
answer_fn source__answer;
answer_fn queries__answer;
answer_fn query__answer;
answer_fn sql__answer;

/* One request. */
struct endpoint {
	const char *name; /* after "api/" */
	answer_fn *answer;
	bool is_post, selects; /* selects: takes the parameters of a selection */
};

/* Returns NULL if there is no such request. */
const struct endpoint *endpoint__find(const char *name);

/* Answers a request. Sets the status of the answer, and its error unless the status is 200. */
void endpoint__answer(const struct endpoint *, struct web_request *, struct answer *);

#endif
