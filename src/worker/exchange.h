/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One worker, and one request to it. Private to src/worker. */
#ifndef WORKER_EXCHANGE_H
#define WORKER_EXCHANGE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "worker/channel.h"
#include "worker/workrequest.h"

struct worker {
	struct worker *next; /* idle */
	int socket;
	pid_t inner, pid; /* in the starter's namespace, and in this one */
	uint64_t owner;	  /* of the files that it has read */
};

/* How long the answer to a request may take. */
struct worker_patience {
	uint64_t until_ns, still_ns; /* still_ns: at this time, unless the CPU time changes */
	/* When it was last read; 0: not yet. Reading it costs as much as sending a request, and
	 * nearly all answers come before the first look. */
	uint64_t cpu_ns;
};

struct worker_patience worker__patience(uint64_t late_ns);

/* Receives a message. Returns 0, -ETIMEDOUT or -ETIME if the worker is late, -ESHUTDOWN if all end
 * (`stopped`), or an error of channel__receive(). */
int worker__receive(const struct worker *, const atomic_bool *stopped, struct worker_patience *,
		    struct packet *);

/* The result of a request. `failed`: an error of the worker, not of its task. */
struct worker_result {
	int err;
	bool failed;
	bool unread; /* the worker was dead before it got the request */
	void *answer;
	size_t sz;
};

/* Makes a request. `packet` is memory for messages. */
struct worker_result worker__request(const struct worker *, const struct worker_request *,
				     const atomic_bool *stopped, struct packet *packet);

/* Returns the worker's CPU time in ns; 0 if it has ended. */
uint64_t worker__cpu_ns(const struct worker *);

#endif
