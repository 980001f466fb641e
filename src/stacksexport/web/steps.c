// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/steps.h"

#include <errno.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "stacksexport/web/reading.h"

#define STEP_SZ (16 << 20) /* files of events: 0.7 million rows */

/* The page asks for its first view before the next step slows down the answers: it has this long to
 * begin, and to be answered. */
#define ASK_NS	  2000000000ull
#define ANSWER_NS 10000000000ull
#define LOOK_NS	  50000000ull

/* A selected part of the recording may be behind the first step. */
static bool steps_wanted(const struct source *s)
{
	return s->options.in_steps && s->request.db.in_order &&
	       !(s->options.given & (OPTIONS_SELECTION | OPTION_COMM));
}

/* The number of batches of a step. A step of more than half of the recording is the last one. */
static size_t steps_size(const struct recfiles *all, unsigned number, size_t shown)
{
	size_t cnt = recfiles__part(all, 0, (off_t)STEP_SZ << 3 * number).cnt;

	if (cnt <= shown)
		cnt = shown + 1;
	return number == SOURCE_STEPS_MAX - 1 || cnt > all->cnt / 2 ? all->cnt : cnt;
}

static const struct recfiles *steps_next(struct source *s, unsigned number)
{
	const struct recfiles *all = &s->request.files;
	size_t shown = number ? s->steps[number - 1].cnt : 0;

	s->steps[number] = recfiles__part(all, 0, 0);
	s->steps[number].cnt = steps_size(all, number, shown);
	return &s->steps[number];
}

void steps__begin(struct source *s)
{
	if (!steps_wanted(s))
		return;
	s->shown = steps_next(s, 0);
	s->partial = s->shown->cnt < s->request.files.cnt;
}

static void steps_state(struct source *s, bool partial, bool stuck)
{
	pthread_mutex_lock(&s->lock);
	s->partial = partial;
	s->stuck = stuck;
	pthread_mutex_unlock(&s->lock);
}

/* Waits until the page has asked for nothing for a while. Returns false if the program ends. */
static bool steps_await_quiet(struct source *s)
{
	uint64_t begin_ns = monotonic__ns(), asked_ns = begin_ns, now_ns = begin_ns;
	bool goes_on = true;

	while (goes_on && now_ns - asked_ns < ASK_NS && now_ns - begin_ns < ANSWER_NS) {
		goes_on = source__wait(s, LOOK_NS);
		now_ns = monotonic__ns();
		if (running__has_request(s->running))
			asked_ns = now_ns;
	}
	return goes_on;
}

void steps__read_rest(struct source *s)
{
	bool goes_on = true;
	int err = 0;

	for (unsigned number = 1; !err && goes_on && s->shown->cnt < s->request.files.cnt;
	     number++) {
		const struct recfiles *step = steps_next(s, number);

		/* All stacks are read again: a query reads a stack from the first of its files that
		 * has it. */
		goes_on = steps_await_quiet(s);
		if (goes_on)
			err = reading__again(s, step, step);
	}
	if (err && err != -EINTR) /* -EINTR: the program ends */
		log__warn("%s: the page shows only the first part of this recording",
			  s->request.files.label);
	if (s->partial)
		steps_state(s, err != 0, err != 0);
}
