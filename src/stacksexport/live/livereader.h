/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads for `stacksexport live` in a thread of its own, so that the screen answers keys meanwhile.
 */
#ifndef STACKSEXPORT_LIVE_LIVEREADER_H
#define STACKSEXPORT_LIVE_LIVEREADER_H

#include <pthread.h>

#include "stacksexport/live/livedata.h"

enum live_reader_state {
	LIVE_IDLE,    /* nothing was requested */
	LIVE_READING, /* a result follows */
	LIVE_READ,    /* the result waits for live_reader__take() */
};

/* `lock` protects the fields below it. */
struct live_reader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum live_reader_state state;
	bool is_replaced; /* the request changed while it was read: read again */
	bool ends;
	struct live_request request;
	struct live_data data; /* owned by the thread but in LIVE_READ */
	bool good;	       /* data were there */
};

int live_reader__start(struct live_reader *); /* returns 0 or an errno */

/* Waits until the present read has ended, and ends the thread. */
void live_reader__stop(struct live_reader *);

/* Requests a read, in place of the last one if its result was not taken yet. */
void live_reader__request(struct live_reader *, const struct live_request *);

/* Returns LIVE_READ if a read has ended: *data is then replaced if *good, and the state is
 * LIVE_IDLE. Returns the state otherwise. */
enum live_reader_state live_reader__take(struct live_reader *, struct live_data *data, bool *good);

#endif
