// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/monotonic.h"
#include "process/crowd.h"
#include "runtime/codefetch.h"
#include "runtime/codeset.h"
#include "runtime/ended.h"
#include "runtime/locate.h"

#define MEMORY_MAX (128u << 20) /* bytes of all code; then processes are forgotten */
#define HOSTS_MAX  1024
#define BLOBS_MAX  32768      /* of one process; then all of it are forgotten */
#define CHECK_NS   100000000  /* until code that is used has to be found unchanged */
#define TRIES_MAX  16	      /* places of a function that are tried within CHECK_NS */
#define RETRY_NS   1000000000 /* until an address without code is tried again */

struct wanted_list {
	struct code_wanted at[WANTED_MAX];
	size_t cnt;
};

struct host {
	uint32_t tgid;
	uint64_t from_ns;
	struct runtime_layout layout;
	struct code_ranges ranges;
	struct code_set code;
	bool reading;
	bool used;		  /* since the last sweep */
	bool given_up;		  /* its memory cannot be read: it has ended */
	struct host *prev, *next; /* the one used last is the list's last */
	UT_hash_handle hh;
};

struct codes {
	int proc;
	struct jobs *jobs;
	struct host *by_tgid, *recent;
	struct host *last; /* that was looked up */
	struct codes_stats stats;
};

/* ---- processes ----------------------------------------------------------------------------------
 */

static void host__forget(struct codes *c, struct host *h)
{
	c->stats.sz -= h->code.sz;
	code_set__clear(&h->code);
}

static void host__free(struct codes *c, struct host *h)
{
	host__forget(c, h);
	HASH_DEL(c->by_tgid, h);
	DL_DELETE(c->recent, h);
	if (c->last == h)
		c->last = NULL;
	free(h);
}

struct codes *codes__new(int proc, struct jobs *jobs)
{
	struct codes *c = calloc(1, sizeof(*c));

	if (c) {
		c->proc = proc;
		c->jobs = jobs;
	}
	return c;
}

void codes__free(struct codes *c)
{
	if (!c)
		return;
	while (c->recent)
		host__free(c, c->recent);
	free(c);
}

/* Keeps the bounds; a process that a job reads stays. */
static void codes_make_room(struct codes *c)
{
	struct host *h, *next;

	DL_FOREACH_SAFE(c->recent, h, next)
	{
		if (c->stats.sz <= MEMORY_MAX && HASH_COUNT(c->by_tgid) <= HOSTS_MAX)
			return;
		if (!h->reading)
			host__forget(c, h);
		if (!h->reading && HASH_COUNT(c->by_tgid) > HOSTS_MAX)
			host__free(c, h);
	}
}

void codes__sweep(struct codes *c)
{
	struct host *h, *next;

	DL_FOREACH_SAFE(c->recent, h, next)
	{
		bool used = h->used;

		h->used = false;
		if (!used && !h->reading && process__ended(c->proc, h->tgid))
			host__free(c, h);
	}
}

size_t codes__shrink(struct codes *c, size_t sz)
{
	size_t before = c->stats.sz;
	struct host *h;

	DL_FOREACH (c->recent, h) {
		if (before - c->stats.sz >= sz)
			break;
		if (!h->reading)
			host__forget(c, h);
	}
	return before - c->stats.sz;
}

static struct host *host__new(struct codes *c, uint32_t tgid)
{
	struct host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->tgid = tgid;
	HASH_ADD(hh, c->by_tgid, tgid, sizeof(h->tgid), h);
	if (!HASH_ADDED(h)) {
		free(h);
		return NULL;
	}
	DL_APPEND(c->recent, h);
	return h;
}

void codes__add(struct codes *c, const struct codes_owner *o)
{
	struct host *h;

	codes_make_room(c);
	HASH_FIND(hh, c->by_tgid, &o->tgid, sizeof(o->tgid), h);
	if (h && h->from_ns == o->from_ns &&
	    memcmp(&h->layout, o->layout, sizeof(h->layout)) == 0) {
		h->used = true;
		h->ranges = *o->ranges;
		return;
	}
	if (h && h->reading) /* what the process was before: it is looked at again */
		return;
	h = h ? h : host__new(c, o->tgid);
	if (!h)
		return;
	host__forget(c, h);
	h->used = true;
	h->given_up = false;
	h->from_ns = o->from_ns;
	h->layout = *o->layout;
	h->ranges = *o->ranges;
}

static struct host *host__of(struct codes *c, const struct process *p)
{
	struct host *h = c->last;

	if (!h || h->tgid != p->tgid) {
		HASH_FIND(hh, c->by_tgid, &p->tgid, sizeof(p->tgid), h);
		if (!h)
			return NULL;
		DL_DELETE(c->recent, h);
		DL_APPEND(c->recent, h);
		c->last = h;
	}
	h->used = true;
	return h->from_ns == p->from_ns ? h : NULL;
}

const struct runtime_layout *codes__layout(struct codes *c, const struct process *p)
{
	struct host *h = host__of(c, p);

	return h ? &h->layout : NULL;
}

static bool host__has(const struct host *h, const struct process *p, uint64_t addr)
{
	const struct mapping *m;

	if (!h->layout.runtime->code->ranges) {
		m = process__find(p, addr);
		return m && m->kind == MAPPING_ANON;
	}
	for (size_t i = 0; i < h->ranges.cnt; i++)
		if (addr >= h->ranges.at[i].start && addr < h->ranges.at[i].end)
			return true;
	return false;
}

/* Returns true if the runtime has code without call-frame information in this file. */
static bool codes_is_own_file(const struct runtime *r, const struct mapping *m)
{
	const char *slash = m && m->kind == MAPPING_FILE && m->path ? strrchr(m->path, '/') : NULL;

	return slash && r->code && r->code->bytecode && r->may_have(slash + 1);
}

bool codes__may_own(void *arg, const struct mapping *m)
{
	(void)arg;
	for (size_t i = 0; runtimes_table[i]; i++)
		if (codes_is_own_file(runtimes_table[i], m))
			return true;
	return false;
}

/* ---- pieces -------------------------------------------------------------------------------------
 */

static struct code_blob *codes_find_blob(const struct host *h, uint64_t addr)
{
	return code_set__find(&h->code, addr);
}

static void codes_put_blob(struct codes *c, struct host *h, struct code_blob *b)
{
	c->stats.sz -= h->code.sz;
	code_set__put(&h->code, b);
	c->stats.sz += h->code.sz;
}

/* Returns true if a piece has to be read, or found to be the same still. A young function moves
 * several times: each new place of it is tried. */
static bool codes_is_due(const struct code_blob *b, uint64_t hint, uint64_t now_ns)
{
	if (!b || (b->hint && b->hint != hint && b->tries < TRIES_MAX))
		return true;
	switch (b->kind) {
	case CODE_STUB:
	case CODE_BARRIER:
	case CODE_INTERPRETER: return false; /* never freed */
	case CODE_NONE: return now_ns > b->checked_ns + RETRY_NS;
	case CODE_COMPILED:
	case CODE_NATIVE:
	case CODE_JIT:
	case CODE_BASELINE:
	case CODE_BYTECODE: break;
	}
	return now_ns > b->checked_ns + CHECK_NS;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* A try that fails is counted with those before, until its time is over. */
static void codes_note_failure(struct code_blob *b, const struct code_blob *old,
			       const struct code_wanted *w)
{
	if (b->kind != CODE_BYTECODE || b->script_cnt)
		return;
	b->hint = w->hint;
	b->tries = old && old->hint && old->tries < TRIES_MAX ? old->tries + 1 : 1;
}

static void codes_take(struct code_fetch *f, size_t i)
{
	struct code_blob *b = f->pieces[i].blob,
			 *old = codes_find_blob(f->host, f->pieces[i].wanted.pc);

	if (b) {
		codes_note_failure(b, old, &f->pieces[i].wanted);
		b->checked_ns =
			b->tries > 1 && b->tries < TRIES_MAX ? old->checked_ns : f->begin_ns;
		f->codes->stats.read++;
		codes_put_blob(f->codes, f->host, b);
		return;
	}
	if (old && i < f->done) {
		old->checked_ns = f->begin_ns;
		f->codes->stats.checked++;
	}
}

static int codes_by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct code_wanted *)a)->pc, y = ((const struct code_wanted *)b)->pc;

	return x < y ? -1 : x > y;
}

static void codes_fetch_done(struct job *);

static void codes_submit(struct codes *c, struct host *h, struct wanted_list *list)
{
	size_t cnt = list->cnt;
	struct code_fetch *f = calloc(1, sizeof(*f) + cnt * sizeof(*f->pieces));

	if (!f)
		return;
	f->job = (struct job){ .rank = JOB_FIRST,
			       .lane = crowd__lane(c->proc, h->tgid),
			       .crowd = crowd__of(c->proc, h->tgid),
			       .work = code_fetch__work,
			       .done = codes_fetch_done };
	f->codes = c;
	f->host = h;
	f->proc = c->proc;
	f->tgid = h->tgid;
	f->layout = h->layout;
	f->cnt = cnt;
	qsort(list->at, cnt, sizeof(*list->at), codes_by_address);
	for (size_t i = 0; i < cnt; i++)
		f->pieces[i].wanted = list->at[i];
	h->reading = true;
	c->stats.jobs++;
	jobs__submit(c->jobs, &f->job);
}

static void codes_fetch_done(struct job *job)
{
	struct code_fetch *f = (struct code_fetch *)job;
	struct host *h = f->host;

	h->reading = false;
	h->given_up = !f->has_ranges;
	if (f->has_ranges)
		h->ranges = f->ranges;
	if (h->code.cnt + f->cnt > BLOBS_MAX)
		host__forget(f->codes, h);
	for (size_t i = 0; i < f->cnt; i++)
		codes_take(f, i);
	free(f);
}

static void codes_want(const struct host *h, const struct code_wanted *w, struct code_wanted *out)
{
	const struct code_blob *b = codes_find_blob(h, w->pc);

	*out = (struct code_wanted){ w->pc, b ? b->header : 0, b ? b->id : 0, w->hint,
				     w->other_hint };
}

/* Returns the piece that a word of the stack leads to: the code that it returns to, or the bytecode
 * of a frame there. */
static bool codes_leads_to(const struct host *h, const struct managed_query *q, uint64_t at,
			   struct code_wanted *w)
{
	const struct runtime_code *code = h->layout.runtime->code;
	uint64_t word, pc;

	if (!snapshot__word(q->stack, at, &word))
		return false;
	*w = (struct code_wanted){ .pc = word - 1 };
	if (host__has(h, q->process, word - 1))
		return true;
	return code->bytecode && word > at && snapshot__word(q->stack, at + 8, &pc) &&
	       process__find(q->process, pc - 1) && code->bytecode(&h->layout, q->stack, at, w);
}

/* Collects all pieces that words of the stack lead to: most of them are needed. */
static void codes_collect(const struct host *h, const struct managed_query *q,
			  const struct code_wanted *first, struct wanted_list *list)
{
	uint64_t now_ns = q->sample->event_ns;
	struct code_wanted w;

	if (list->cnt < WANTED_MAX)
		codes_want(h, first, &list->at[list->cnt++]);
	for (uint64_t off = 0; off + 8 <= q->stack->sz && list->cnt < WANTED_MAX; off += 8)
		if (codes_leads_to(h, q, q->stack->addr + off, &w) &&
		    codes_is_due(codes_find_blob(h, w.pc), w.hint, now_ns))
			codes_want(h, &w, &list->at[list->cnt++]);
}

/* Requests pieces in one go. Events behind this one wait: they get what they need after it. */
static void codes_request(struct codes *c, struct host *h, const struct managed_query *q,
			  const struct code_wanted *first)
{
	struct wanted_list list = { .cnt = 0 };

	codes_collect(h, q, first, &list);
	codes_submit(c, h, &list);
}

/* ---- walking ------------------------------------------------------------------------------------
 */

struct host_walk {
	struct code_walk walk;
	struct codes *codes;
	struct host *host;
};

static const struct code_blob *codes_find_function(struct code_walk *walk,
						   const struct code_wanted *wanted)
{
	struct host_walk *w = (struct host_walk *)walk;
	struct host *h = w->host;
	const struct code_blob *b = codes_find_blob(h, wanted->pc);

	if (!walk->query->patient || h->given_up ||
	    !codes_is_due(b, wanted->hint, walk->query->sample->event_ns))
		return b;
	walk->awaits = true;
	if (!h->reading)
		codes_request(w->codes, h, walk->query, wanted);
	return NULL;
}

static const struct code_blob *codes_find_for_walk(struct code_walk *walk, uint64_t pc)
{
	if (!host__has(((struct host_walk *)walk)->host, walk->query->process, pc))
		return NULL;
	return codes_find_function(walk, &(struct code_wanted){ .pc = pc });
}

enum managed_result codes__step(void *arg, const struct managed_query *q, struct managed_frame *f)
{
	struct codes *c = arg;
	struct host *h = host__of(c, q->process);
	struct host_walk w = { { q, codes_find_for_walk, codes_find_function, NULL, false }, c, h };
	uint64_t place = f->pc - f->caller;

	if (!h || !(host__has(h, q->process, place) ||
		    codes_is_own_file(h->layout.runtime, process__find(q->process, place))))
		return MANAGED_NONE;
	w.walk.layout = &h->layout;
	f->own_pc = f->pc;
	f->own_sp = f->sp;
	f->interprets = f->hidden = false;
	return h->layout.runtime->code->step(&w.walk, f);
}

const struct code_blob *codes__at(struct codes *c, const struct process *p, uint64_t place)
{
	struct host *h = host__of(c, p);

	return h ? codes_find_blob(h, place) : NULL;
}

void codes__stats(const struct codes *c, struct codes_stats *s)
{
	*s = c->stats;
}
