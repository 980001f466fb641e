// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/scripts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/monotonic.h"
#include "process/crowd.h"
#include "runtime/ended.h"
#include "runtime/locate.h"

#define MEMORY_MAX    (128u << 20) /* bytes of all functions; then processes are forgotten */
#define HOSTS_MAX     1024
#define FUNCTIONS_MAX 65536	 /* of one process; then all of it are forgotten */
#define READ_MAX      (4u << 20) /* bytes of one function */
#define RETRY_NS      1000000000 /* until what could not be read is tried again */

enum function_state { FUNCTION_WANTED, FUNCTION_READ, FUNCTION_GONE };

/* The cookie distinguishes functions that had the same address at different times. The code is 0
 * where the cookie alone identifies a function. */
struct scripts_function_key {
	uint64_t code, cookie;
};

struct scripts_entry {
	struct scripts_function_key key;
	enum function_state state;
	bool queued;	  /* a job has it, or will */
	uint64_t read_ns; /* when its job began */
	struct script_function function;
	UT_hash_handle hh;
};

struct scripts_host {
	uint32_t tgid;
	uint64_t from_ns;
	struct runtime_layout layout;
	struct scripts_entry *functions;
	size_t sz;			/* bytes */
	bool reading;			/* a job is under way */
	bool used;			/* since the last sweep */
	struct function_wanted *wanted; /* for the next job */
	size_t cnt, cap;
	struct scripts_host *prev, *next; /* the one used last is the list's last */
	UT_hash_handle hh;
};

struct scripts {
	int proc;
	struct jobs *jobs;
	struct scripts_host *by_tgid, *recent;
	size_t sz;
	struct scripts_host *in_hand;
	uint64_t now_ns, event_ns;
};

/* Knows all that it needs: it may go on when all else is gone. */
struct scripts_reading {
	struct job job;
	struct scripts *scripts; /* only while there are jobs */
	struct scripts_host *host;
	int proc;
	uint32_t tgid;
	struct runtime_layout layout;
	uint64_t begin_ns;
	size_t cnt, done;
	struct {
		struct scripts_function_key key;
		struct function_wanted wanted;
		int err;
		struct script_function function;
	} functions[];
};

struct scripts *scripts__new(int proc, struct jobs *jobs)
{
	struct scripts *s = calloc(1, sizeof(*s));

	if (s) {
		s->proc = proc;
		s->jobs = jobs;
	}
	return s;
}

/* ---- what is known ------------------------------------------------------------------------------
 */

static void scripts_host__forget(struct scripts *s, struct scripts_host *h)
{
	struct scripts_entry *e, *next;

	HASH_ITER (hh, h->functions, e, next) {
		HASH_DEL(h->functions, e);
		script_function__free(&e->function);
		free(e);
	}
	s->sz -= h->sz;
	h->sz = h->cnt = 0;
}

static void scripts_host__free(struct scripts *s, struct scripts_host *h)
{
	scripts_host__forget(s, h);
	HASH_DEL(s->by_tgid, h);
	DL_DELETE(s->recent, h);
	free(h->wanted);
	free(h);
}

void scripts__free(struct scripts *s)
{
	if (!s)
		return;
	while (s->recent)
		scripts_host__free(s, s->recent);
	free(s);
}

static struct scripts_host *scripts_host__new(struct scripts *s, const struct scripts_owner *o)
{
	struct scripts_host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->tgid = o->tgid;
	HASH_ADD(hh, s->by_tgid, tgid, sizeof(h->tgid), h);
	if (!HASH_ADDED(h)) {
		free(h);
		return NULL;
	}
	DL_APPEND(s->recent, h);
	return h;
}

/* Keeps the bounds; a process that a job reads stays. */
static void scripts_make_room(struct scripts *s)
{
	struct scripts_host *h, *next;

	DL_FOREACH_SAFE(s->recent, h, next)
	{
		if (s->sz <= MEMORY_MAX && HASH_COUNT(s->by_tgid) <= HOSTS_MAX)
			return;
		if (!h->reading)
			scripts_host__free(s, h);
	}
}

size_t scripts__sz(const struct scripts *s)
{
	return s->sz;
}

static void scripts_drop(struct scripts *s, struct scripts_host *h)
{
	if (h == s->in_hand)
		s->in_hand = NULL;
	scripts_host__free(s, h);
}

void scripts__sweep(struct scripts *s)
{
	struct scripts_host *h, *next;

	DL_FOREACH_SAFE(s->recent, h, next)
	{
		bool used = h->used;

		h->used = false;
		if (!used && !h->reading && process__ended(s->proc, h->tgid))
			scripts_drop(s, h);
	}
}

size_t scripts__shrink(struct scripts *s, size_t sz)
{
	size_t before = s->sz;
	struct scripts_host *h, *next;

	DL_FOREACH_SAFE(s->recent, h, next)
	{
		if (before - s->sz >= sz)
			break;
		if (!h->reading)
			scripts_drop(s, h);
	}
	return before - s->sz;
}

static bool scripts_is_same(const struct scripts_host *h, const struct scripts_owner *o)
{
	return h->from_ns == o->from_ns && memcmp(&h->layout, o->layout, sizeof(h->layout)) == 0 &&
	       HASH_COUNT(h->functions) < FUNCTIONS_MAX;
}

bool scripts__begin(struct scripts *s, const struct scripts_owner *o)
{
	struct scripts_host *h;

	scripts_make_room(s);
	s->now_ns = monotonic__ns();
	s->event_ns = o->event_ns;
	HASH_FIND(hh, s->by_tgid, &o->tgid, sizeof(o->tgid), h);
	s->in_hand = h = h ? h : scripts_host__new(s, o);
	if (!h)
		return false;
	h->used = true;
	DL_DELETE(s->recent, h);
	DL_APPEND(s->recent, h);
	if (scripts_is_same(h, o))
		return true;
	if (h->reading) /* what was there before */
		return false;
	scripts_host__forget(s, h);
	h->from_ns = o->from_ns;
	h->layout = *o->layout;
	return true;
}

static struct scripts_entry *entry__new(struct scripts *s, struct scripts_host *h,
					const struct scripts_function_key *key)
{
	struct scripts_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->key = *key;
	HASH_ADD(hh, h->functions, key, sizeof(e->key), e);
	if (!HASH_ADDED(e)) {
		free(e);
		return NULL;
	}
	h->sz += sizeof(*e);
	s->sz += sizeof(*e);
	return e;
}

static struct scripts_function_key scripts_key_of(const struct scripts_host *h,
						  const struct function_wanted *w)
{
	return (struct scripts_function_key){ h->layout.runtime->read_described ? 0 : w->code,
					      w->cookie };
}

static void entry__want(struct scripts_host *h, struct scripts_entry *e,
			const struct function_wanted *w)
{
	struct function_wanted *wanted = array__room(h->wanted, h->cnt, &h->cap, sizeof(*wanted));

	if (!wanted)
		return;
	h->wanted = wanted;
	wanted[h->cnt++] = *w;
	e->queued = true;
}

/* Threads get copies of the code, and give them back: returns true if one was made after the
 * function was read. */
static bool scripts_has_new_copy(const struct scripts *s, const struct scripts_entry *e,
				 const struct event_call *c)
{
	return e->function.is_copied && e->read_ns < s->event_ns &&
	       !script_function__has(&e->function, c->instr);
}

static bool scripts_is_due(const struct scripts *s, const struct scripts_entry *e)
{
	return e->state != FUNCTION_GONE || s->now_ns - e->read_ns > RETRY_NS;
}

static bool scripts_is_link(const struct runtime_layout *l, const struct event_call *c)
{
	return !c->code || (l->runtime->is_link && l->runtime->is_link(l, c));
}

const struct script_function *scripts__find(struct scripts *s, const struct event_call *c,
					    const struct event_call *description, bool *reads)
{
	struct scripts_host *h = s->in_hand;
	struct function_wanted wanted = { c->code & h->layout.code_mask, c->cookie, { 0 } };
	struct scripts_function_key key = scripts_key_of(h, &wanted);
	struct scripts_entry *e;

	if (scripts_is_link(&h->layout, c))
		return NULL;
	HASH_FIND(hh, h->functions, &key, sizeof(key), e);
	e = e ? e : entry__new(s, h, &key);
	if (!e)
		return NULL;
	if (e->state == FUNCTION_READ && !scripts_has_new_copy(s, e, c))
		return &e->function;
	if (!e->queued && scripts_is_due(s, e)) {
		wanted.description = description ? *description : wanted.description;
		entry__want(h, e, &wanted);
	}
	*reads |= e->state != FUNCTION_GONE && e->queued;
	return NULL;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Read last: what was read before is the function of the event if the cookie is still its own. */
static bool scripts_has_cookie(struct remote *r, const struct runtime_layout *l,
			       const struct function_wanted *w)
{
	uint64_t words[3];

	if (l->cookie_off == RUNTIME_NO_COOKIE)
		return !r->err;
	if (l->runtime->cookie)
		return l->runtime->cookie(r, w->code) == w->cookie && !r->err;
	for (size_t i = 0; i < 3; i++)
		words[i] = remote__u64(r, w->code + l->cookie_off + 8 * l->cookie[i]);
	return !r->err && EVENT_COOKIE(words[0], words[1], words[2]) == w->cookie;
}

static int scripts_read_function(struct remote r, const struct runtime_layout *l,
				 const struct function_wanted *w, struct script_function *f)
{
	int err;

	if (l->runtime->read_described)
		return l->runtime->read_described(&r, l, w, f);
	err = l->runtime->read(&r, l, w->code, f);
	return err ? err : scripts_has_cookie(&r, l, w) ? 0 : -ESTALE;
}

static void scripts_work(struct job *job)
{
	struct scripts_reading *r = (struct scripts_reading *)job;
	struct remote m = { .mem = locate__open(r->proc, r->tgid, "mem"), .left = READ_MAX };

	if (r->layout.file)
		m.base = locate__file(r->proc, r->tgid, r->layout.file);
	for (r->done = 0; m.mem >= 0 && r->done < r->cnt; r->done++)
		r->functions[r->done].err =
			scripts_read_function(m, &r->layout, &r->functions[r->done].wanted,
					      &r->functions[r->done].function);
	if (m.mem >= 0)
		close(m.mem);
}

static size_t entry__memory(const struct scripts_entry *e)
{
	return e->state == FUNCTION_READ ? script_function__memory(&e->function) : 0;
}

/* An event may have the names of a function that is known: they stay. Leaves in *f what is to be
 * freed. */
static void entry__take(struct scripts_entry *e, struct script_function *f)
{
	struct script_function known = e->function;

	e->function = *f;
	if (e->state == FUNCTION_READ) {
		e->function.script = known.script;
		known.script = f->script;
	}
	e->state = FUNCTION_READ;
	*f = known;
}

static void scripts_take(struct scripts_reading *r, size_t i)
{
	struct script_function *f = &r->functions[i].function;
	bool ok = i < r->done && r->functions[i].err == 0;
	struct scripts_entry *e;

	HASH_FIND(hh, r->host->functions, &r->functions[i].key, sizeof(struct scripts_function_key),
		  e);
	if (e) {
		size_t before = entry__memory(e);

		e->queued = false;
		e->read_ns = r->begin_ns;
		if (ok)
			entry__take(e, f);
		else if (e->state == FUNCTION_WANTED)
			e->state = FUNCTION_GONE;
		r->host->sz += entry__memory(e) - before;
		r->scripts->sz += entry__memory(e) - before;
	}
	script_function__free(f);
}

static void scripts_done(struct job *job)
{
	struct scripts_reading *r = (struct scripts_reading *)job;

	r->host->reading = false;
	for (size_t i = 0; i < r->cnt; i++)
		scripts_take(r, i);
	free(r);
}

void scripts__request(struct scripts *s)
{
	struct scripts_host *h = s->in_hand;
	struct scripts_reading *r;

	if (h->reading || !h->cnt)
		return;
	r = calloc(1, sizeof(*r) + h->cnt * sizeof(*r->functions));
	if (!r)
		return;
	r->job = (struct job){ .rank = JOB_FIRST,
			       .lane = crowd__lane(s->proc, h->tgid),
			       .crowd = crowd__of(s->proc, h->tgid),
			       .work = scripts_work,
			       .done = scripts_done };
	r->scripts = s;
	r->host = h;
	r->proc = s->proc;
	r->tgid = h->tgid;
	r->layout = h->layout;
	r->begin_ns = s->now_ns;
	r->cnt = h->cnt;
	for (size_t i = 0; i < h->cnt; i++) {
		r->functions[i].wanted = h->wanted[i];
		r->functions[i].key = scripts_key_of(h, &h->wanted[i]);
	}
	h->cnt = 0;
	h->reading = true;
	jobs__submit(s->jobs, &r->job);
}
