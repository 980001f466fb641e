// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/live/livereader.h"

#include "base/thread.h"

/* Reads what is requested, and again if the request was replaced meanwhile. Must hold the lock. */
static void live_reader_read(struct live_reader *r)
{
	while (r->state == LIVE_READING && !r->ends) {
		struct live_request request = r->request;
		bool good;

		r->is_replaced = false;
		pthread_mutex_unlock(&r->lock);
		good = live_data__read(&r->data, &request);
		pthread_mutex_lock(&r->lock);
		r->good = good;
		if (!r->is_replaced)
			r->state = LIVE_READ;
	}
}

static void *live_reader_run(void *arg)
{
	struct live_reader *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->ends) {
		if (r->state == LIVE_READING)
			live_reader_read(r);
		else
			pthread_cond_wait(&r->changed, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

int live_reader__start(struct live_reader *r)
{
	int err;

	*r = (struct live_reader){ .state = LIVE_IDLE };
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	err = thread__start(&r->thread, live_reader_run, r);
	if (err) {
		pthread_cond_destroy(&r->changed);
		pthread_mutex_destroy(&r->lock);
	}
	return err;
}

void live_reader__stop(struct live_reader *r)
{
	pthread_mutex_lock(&r->lock);
	r->ends = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	live_data__free(&r->data);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
}

void live_reader__request(struct live_reader *r, const struct live_request *request)
{
	pthread_mutex_lock(&r->lock);
	r->request = *request;
	r->is_replaced = true;
	r->state = LIVE_READING;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

enum live_reader_state live_reader__take(struct live_reader *r, struct live_data *data, bool *good)
{
	enum live_reader_state state;

	pthread_mutex_lock(&r->lock);
	state = r->state;
	*good = r->good;
	if (state == LIVE_READ) {
		r->state = LIVE_IDLE;
		if (r->good) {
			live_data__free(data);
			*data = r->data;
			r->data = (struct live_data){ .text = NULL };
		}
	}
	pthread_mutex_unlock(&r->lock);
	return state;
}
