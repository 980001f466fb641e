// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/running.h"

#include <errno.h>
#include <time.h>

#include "base/monotonic.h"
#include "stacksexport/web/jsonout.h"

#define WATCH_NS 100000000 /* how late a task may be interrupted */

static void running_interrupt_if(struct running *r, bool (*wanted)(const struct running_task *))
{
	for (const struct running_task *t = r->tasks; t; t = t->next)
		if (t->connection && wanted(t))
			duckdb_interrupt(t->connection);
}

static bool running_task_is_late(const struct running_task *t)
{
	return t->limit_ns && monotonic__ns() - t->begin_ns > t->limit_ns;
}

static bool running_task_can_cancel(const struct running_task *t)
{
	return t->can_cancel;
}

static bool running_task_is_any(const struct running_task *t)
{
	(void)t;
	return true;
}

static void *running_watch(void *arg)
{
	struct running *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->ends) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WATCH_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (r->tasks)
			pthread_cond_timedwait(&r->changed, &r->lock, &until);
		else
			pthread_cond_wait(&r->changed, &r->lock);
		running_interrupt_if(r, running_task_is_late);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

int running__init(struct running *r)
{
	*r = (struct running){ 0 };
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	return -pthread_create(&r->watch, NULL, running_watch, r);
}

void running__destroy(struct running *r)
{
	pthread_mutex_lock(&r->lock);
	r->ends = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->watch, NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
}

void running__begin(struct running *r, struct running_task *t)
{
	struct running_task **at = &r->tasks;

	t->begin_ns = monotonic__ns();
	pthread_mutex_lock(&r->lock);
	while (t->in_background && *at)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void running__end(struct running *r, struct running_task *t)
{
	struct running_task **at = &r->tasks;

	pthread_mutex_lock(&r->lock);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_mutex_unlock(&r->lock);
}

bool running__has_request(struct running *r)
{
	bool is_asked;

	pthread_mutex_lock(&r->lock);
	is_asked = r->tasks && !r->tasks->in_background;
	pthread_mutex_unlock(&r->lock);
	return is_asked;
}

void running__cancel(struct running *r)
{
	pthread_mutex_lock(&r->lock);
	running_interrupt_if(r, running_task_can_cancel);
	pthread_mutex_unlock(&r->lock);
}

void running__stop(struct running *r)
{
	pthread_mutex_lock(&r->lock);
	running_interrupt_if(r, running_task_is_any);
	pthread_mutex_unlock(&r->lock);
}

static void running_show_fraction(struct buf *out, const struct running_task *t)
{
	double percent = t->connection ? duckdb_query_progress(t->connection).percentage : -1;

	json_out__key(out, "fraction");
	if (percent >= 0 && percent <= 100)
		json_out__double(out, percent / 100);
	else
		json_out__null(out);
}

void running__show(struct running *r, struct buf *out)
{
	json_out__open(out, '[');
	pthread_mutex_lock(&r->lock);
	for (const struct running_task *t = r->tasks; t; t = t->next) {
		json_out__open(out, '{');
		json_out__key_text(out, "what", t->what);
		running_show_fraction(out, t);
		json_out__key_int(out, "ms", (int64_t)((monotonic__ns() - t->begin_ns) / 1000000));
		json_out__close(out, '}');
	}
	pthread_mutex_unlock(&r->lock);
	json_out__close(out, ']');
}
