// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/steps.h"

#include "base/log.h"
#include "base/monotonic.h"
#include "stacksexport/web/reading.h"

#define STEP_SZ	   (16 << 20) /* files of events: 0.7 million rows */
#define STEP_TIMES 8
#define REST_TIMES 4 /* a step of a larger part than 1 of this many reads all */

/* The page asks for its first view before the next step slows down the answers: it has this long to
 * begin, and to be answered. */
#define ASK_NS	  2000000000ull
#define ANSWER_NS 30000000000ull
#define LOOK_NS	  50000000ull

/* A part of the recording that is selected may lie behind the first step. */
static bool steps_wanted(const struct source *s)
{
	return s->options.in_steps && s->request.db.in_order &&
	       !(s->options.given & (OPTIONS_SELECTION | OPTION_COMM));
}

static struct recfiles *steps_next(struct source *s, unsigned number)
{
	const struct recfiles *all = &s->request.files;
	off_t sz = STEP_SZ;

	for (unsigned i = 0; i < number; i++)
		sz *= STEP_TIMES;
	s->steps[number] = recfiles__part(all, 0, sz);
	if (number && s->steps[number].cnt * REST_TIMES > all->cnt)
		s->steps[number].cnt = all->cnt;
	return &s->steps[number];
}

int steps__begin(struct source *s)
{
	const struct recfiles *first;

	if (!steps_wanted(s))
		return 0;
	first = steps_next(s, 0);
	s->partial = first->cnt < s->request.files.cnt;
	if (s->partial)
		s->request.db.files = first;
	return s->partial ? db__set_files(&s->request.db, first) : 0;
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
		if (running__is_asked(s->running))
			asked_ns = now_ns;
	}
	return goes_on;
}

void steps__read_rest(struct source *s)
{
	unsigned number = 1;
	int err = 0;

	if (!s->partial)
		return;
	while (!err && s->request.db.files->cnt < s->request.files.cnt && steps_await_quiet(s)) {
		const struct recfiles *step = steps_next(s, number++);

		/* Which of a stack's rows counts depends on all files of a query: all are read. */
		err = reading__again(s, step, step);
	}
	if (err && !s->ends)
		log__warn("%s: the page shows only the begin of this recording",
			  s->request.files.label);
	steps_state(s, err != 0, err != 0);
}
