// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "worker/memfile.h"

#define LOOK_MS	   100		  /* interval at which progress is checked */
#define STILL_NS   3000000000ull  /* a worker that used no CPU time for this long is late */
#define LATE_NS	   60000000000ull /* a worker with a request of this age is late */
#define WANTED_MAX 16		  /* files that a worker may request during one request */

uint64_t worker__cpu_ns(const struct worker *w)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (!w->pid || clock_getcpuclockid(w->pid, &clock) != 0 || clock_gettime(clock, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct worker_patience worker__patience(uint64_t late_ns)
{
	uint64_t now_ns = monotonic__ns();

	return (struct worker_patience){ now_ns + (late_ns ? late_ns : LATE_NS), now_ns + STILL_NS,
					 0 };
}

/* Waits for a message. Returns 0; -ETIMEDOUT if the worker waits for a file, -ETIME if it works for
 * too long; or -ESHUTDOWN if all end. */
static int worker_wait(const struct worker *w, const atomic_bool *stopped,
		       struct worker_patience *p)
{
	struct pollfd fd = { .fd = w->socket, .events = POLLIN };

	while (poll(&fd, 1, LOOK_MS) <= 0) {
		uint64_t now_ns = monotonic__ns(), cpu_ns = worker__cpu_ns(w);

		if (cpu_ns != p->cpu_ns)
			p->still_ns = now_ns + STILL_NS;
		p->cpu_ns = cpu_ns;
		if (now_ns >= p->still_ns)
			return -ETIMEDOUT;
		if (now_ns >= p->until_ns)
			return -ETIME;
	}
	return *stopped ? -ESHUTDOWN : 0;
}

int worker__receive(const struct worker *w, const atomic_bool *stopped, struct worker_patience *p,
		    struct packet *packet)
{
	int err = worker_wait(w, stopped, p);

	return err ? err : channel__receive(w->socket, packet);
}

static int worker_give(const struct worker *w, const struct worker_request *r,
		       const struct packet *wanted)
{
	int fd = r->open ? r->open(wanted->payload, wanted->sz, r->arg) : -ENOENT;
	struct message m = { .kind = MESSAGE_GIVE, .err = fd < 0 ? fd : 0 };
	int err = channel__send(w->socket, m, NULL, 0, fd);

	if (fd >= 0)
		close(fd);
	return err;
}

/* Returns a copy of the bytes of the answer in `*answer`. Returns 0, -EPROTO if they are wrong, or
 * -ENOMEM. */
static int worker_take(const struct worker_request *r, const struct packet *p, void **answer,
		       size_t *sz)
{
	*answer = NULL;
	*sz = p->sz;
	if (p->fd >= 0) {
		*answer = p->sz ? NULL : memfile__read(p->fd, r->answer_max, sz);
		if (!*answer)
			return errno == ENOMEM && !p->sz ? -ENOMEM : -EPROTO;
	} else if (p->sz) {
		*answer = p->sz > r->answer_max ? NULL : malloc(p->sz);
		if (!*answer)
			return p->sz > r->answer_max ? -EPROTO : -ENOMEM;
		memcpy(*answer, p->payload, p->sz);
	}
	if (r->check(*answer, *sz, r->arg))
		return 0;
	free(*answer);
	*answer = NULL;
	*sz = 0;
	return -EPROTO;
}

static struct worker_result worker_result(const struct worker_request *r, const struct packet *p)
{
	struct worker_result result = { .err = p->message.err };

	if (p->message.kind != MESSAGE_ANSWER || result.err > 0 || (result.err && p->fd >= 0))
		return (struct worker_result){ .err = -EPROTO, .failed = true };
	if (!result.err)
		result.err = worker_take(r, p, &result.answer, &result.sz);
	result.failed = !p->message.err && result.err == -EPROTO;
	return result;
}

struct worker_result worker__request(const struct worker *w, const struct worker_request *r,
				     const atomic_bool *stopped, struct packet *p)
{
	struct message m = { .kind = MESSAGE_REQUEST, .value = r->kind };
	struct worker_patience patience = worker__patience(r->late_ns);
	int err = channel__send(w->socket, m, r->data, r->sz, r->fd);
	struct worker_result result;

	if (err)
		return (struct worker_result){ .err = err, .failed = true, .unread = true };
	for (size_t wanted = 0; !err; wanted++) {
		err = worker__receive(w, stopped, &patience, p);
		if (err || p->message.kind != MESSAGE_WANT)
			break;
		if (p->fd >= 0)
			close(p->fd);
		err = p->fd >= 0 || wanted == WANTED_MAX ? -EPROTO : worker_give(w, r, p);
	}
	if (err)
		return (struct worker_result){ .err = err, .failed = true };
	result = worker_result(r, p);
	if (p->fd >= 0)
		close(p->fd);
	return result;
}
