// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/monotonic.h"
#include "process/crowd.h"
#include "runtime/locate.h"

#define MEMORY_MAX (128u << 20) /* bytes of all code; then processes are forgotten */
#define HOSTS_MAX  1024
#define BLOBS_MAX  32768      /* of one process; then all of it are forgotten */
#define READ_MAX   (8u << 20) /* bytes of one piece */
#define WANTED_MAX 512	      /* pieces that one job reads */
#define CHECK_NS   100000000  /* until code that is used has to be found unchanged */
#define RETRY_NS   1000000000 /* until an address without code is tried again */

struct host {
	uint32_t tgid;
	uint64_t from_ns;
	struct runtime_layout layout;
	struct code_ranges ranges;
	struct code_blob **blobs; /* ascending, none overlaps another */
	size_t cnt, cap;
	size_t sz; /* bytes */
	bool reading;
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

/* Knows all that it needs: it may go on when all else is gone. */
struct fetching {
	struct job job;
	struct codes *codes; /* only while there are jobs */
	struct host *host;
	int proc;
	uint32_t tgid;
	uint64_t begin_ns;
	struct runtime_layout layout;
	struct code_ranges ranges;
	bool has_ranges;
	size_t cnt, done;
	struct {
		struct code_wanted wanted;
		struct code_blob *blob; /* NULL: it is the same as before */
	} pieces[];
};

/* ---- processes ----------------------------------------------------------------------------------
 */

static void host__forget(struct codes *c, struct host *h)
{
	for (size_t i = 0; i < h->cnt; i++)
		code_blob__free(h->blobs[i]);
	c->stats.sz -= h->sz;
	h->sz = h->cnt = 0;
}

static void host__free(struct codes *c, struct host *h)
{
	host__forget(c, h);
	HASH_DEL(c->by_tgid, h);
	DL_DELETE(c->recent, h);
	if (c->last == h)
		c->last = NULL;
	free(h->blobs);
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
static void make_room(struct codes *c)
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

	make_room(c);
	HASH_FIND(hh, c->by_tgid, &o->tgid, sizeof(o->tgid), h);
	if (h && h->from_ns == o->from_ns &&
	    memcmp(&h->layout, o->layout, sizeof(h->layout)) == 0) {
		h->ranges = *o->ranges;
		return;
	}
	if (h && h->reading) /* what the process was before: it is looked at again */
		return;
	h = h ? h : host__new(c, o->tgid);
	if (!h)
		return;
	host__forget(c, h);
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
	return h->from_ns == p->from_ns ? h : NULL;
}

const struct runtime_layout *codes__layout(struct codes *c, const struct process *p)
{
	struct host *h = host__of(c, p);

	return h ? &h->layout : NULL;
}

static bool host__has(const struct host *h, uint64_t addr)
{
	for (size_t i = 0; i < h->ranges.cnt; i++)
		if (addr >= h->ranges.at[i].start && addr < h->ranges.at[i].end)
			return true;
	return false;
}

/* ---- pieces -------------------------------------------------------------------------------------
 */

/* Returns the index of the first piece that ends after an address. */
static size_t find_after(const struct host *h, uint64_t addr)
{
	size_t lo = 0, hi = h->cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->blobs[mid]->end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct code_blob *find_blob(const struct host *h, uint64_t addr)
{
	size_t i = find_after(h, addr);

	return i < h->cnt && h->blobs[i]->start <= addr ? h->blobs[i] : NULL;
}

/* Puts a piece in the place of those that it overlaps. */
static void put_blob(struct codes *c, struct host *h, struct code_blob *b)
{
	struct code_blob **room = array__room(h->blobs, h->cnt, &h->cap, sizeof(*room));
	size_t first, past;

	if (!room) {
		code_blob__free(b);
		return;
	}
	h->blobs = room;
	first = past = find_after(h, b->start);
	for (; past < h->cnt && room[past]->start < b->end; past++) {
		h->sz -= code_blob__memory(room[past]);
		c->stats.sz -= code_blob__memory(room[past]);
		code_blob__free(room[past]);
	}
	memmove(room + first + 1, room + past, (h->cnt - past) * sizeof(*room));
	room[first] = b;
	h->cnt += 1 - (past - first);
	h->sz += code_blob__memory(b);
	c->stats.sz += code_blob__memory(b);
}

/* Returns true if a piece has to be read, or found to be the same still. */
static bool is_due(const struct code_blob *b, uint64_t now_ns)
{
	if (!b)
		return true;
	switch (b->kind) {
	case CODE_STUB:
	case CODE_INTERPRETER: return false; /* never freed */
	case CODE_NONE: return now_ns > b->checked_ns + RETRY_NS;
	case CODE_COMPILED:
	case CODE_NATIVE: break;
	}
	return now_ns > b->checked_ns + CHECK_NS;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Returns a piece without code, for an address at which none can be read. */
static struct code_blob *no_code(struct code_blob *b, uint64_t pc)
{
	code_blob__free(b);
	b = calloc(1, sizeof(*b));
	if (b) {
		b->start = pc;
		b->end = pc + 1;
	}
	return b;
}

static void fetch(const struct fetching *f, int mem, const struct code_wanted *w,
		  struct code_blob **out)
{
	struct remote remote = { .mem = mem, .left = READ_MAX };
	struct code_blob *b = calloc(1, sizeof(*b));
	int err = b ? f->layout.runtime->code->read(&remote, &f->layout, w, b) : -ENOMEM;

	*out = b;
	if (err == -EALREADY) {
		code_blob__free(b);
		*out = NULL;
	} else if (err) {
		*out = no_code(b, w->pc);
	}
}

static bool is_within(const struct code_blob *b, uint64_t pc)
{
	return b && b->kind != CODE_NONE && pc >= b->start && pc < b->end;
}

/* Several addresses may be in one piece: it is read once. They are in order. */
static void fetch_all(struct job *job)
{
	struct fetching *f = (struct fetching *)job;
	int mem = locate__open(f->proc, f->tgid, "mem");
	struct remote remote = { .mem = mem, .left = READ_MAX };
	const struct code_blob *last = NULL;

	f->begin_ns = monotonic__ns();
	f->has_ranges =
		mem >= 0 && f->layout.runtime->code->ranges(&remote, &f->layout, &f->ranges) == 0;
	for (f->done = 0; f->has_ranges && f->done < f->cnt; f->done++) {
		const struct code_wanted *w = &f->pieces[f->done].wanted;

		if (is_within(last, w->pc))
			continue;
		fetch(f, mem, w, &f->pieces[f->done].blob);
		last = f->pieces[f->done].blob;
	}
	if (mem >= 0)
		close(mem);
}

static void take(struct fetching *f, size_t i)
{
	struct code_blob *b = f->pieces[i].blob, *old;

	if (b) {
		b->checked_ns = f->begin_ns;
		f->codes->stats.read++;
		put_blob(f->codes, f->host, b);
		return;
	}
	old = find_blob(f->host, f->pieces[i].wanted.pc);
	if (old && i < f->done) {
		old->checked_ns = f->begin_ns;
		f->codes->stats.checked++;
	}
}

static void fetch_done(struct job *job)
{
	struct fetching *f = (struct fetching *)job;
	struct host *h = f->host;

	h->reading = false;
	h->given_up = !f->has_ranges;
	if (f->has_ranges)
		h->ranges = f->ranges;
	if (h->cnt + f->cnt > BLOBS_MAX)
		host__forget(f->codes, h);
	for (size_t i = 0; i < f->cnt; i++)
		take(f, i);
	free(f);
}

static void submit(struct codes *c, struct host *h, const struct code_wanted *wanted, size_t cnt)
{
	struct fetching *f = calloc(1, sizeof(*f) + cnt * sizeof(*f->pieces));

	if (!f)
		return;
	f->job = (struct job){ .rank = JOB_FIRST,
			       .lane = crowd__lane(c->proc, h->tgid),
			       .crowd = crowd__of(c->proc, h->tgid),
			       .work = fetch_all,
			       .done = fetch_done };
	f->codes = c;
	f->host = h;
	f->proc = c->proc;
	f->tgid = h->tgid;
	f->layout = h->layout;
	f->cnt = cnt;
	for (size_t i = 0; i < cnt; i++)
		f->pieces[i].wanted = wanted[i];
	h->reading = true;
	c->stats.jobs++;
	jobs__submit(c->jobs, &f->job);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct code_wanted *)a)->pc, y = ((const struct code_wanted *)b)->pc;

	return x < y ? -1 : x > y;
}

static void want(const struct host *h, uint64_t pc, struct code_wanted *out)
{
	const struct code_blob *b = find_blob(h, pc);

	*out = (struct code_wanted){ pc, b ? b->header : 0, b ? b->id : 0 };
}

/* Requests, in one go, the code of all words of the stack that may be return addresses into it:
 * most of them are. */
static void request(struct codes *c, struct host *h, const struct managed_query *q, uint64_t pc)
{
	struct code_wanted wanted[WANTED_MAX];
	uint64_t word, now_ns = q->sample->event_ns;
	size_t cnt = 0;

	want(h, pc, &wanted[cnt++]);
	for (uint64_t off = 0; off + 8 <= q->stack->sz && cnt < WANTED_MAX; off += 8)
		if (snapshot__word(q->stack, q->stack->addr + off, &word) &&
		    host__has(h, word - 1) && is_due(find_blob(h, word - 1), now_ns))
			want(h, word - 1, &wanted[cnt++]);
	qsort(wanted, cnt, sizeof(*wanted), by_address);
	submit(c, h, wanted, cnt);
}

/* ---- walking ------------------------------------------------------------------------------------
 */

struct host_walk {
	struct code_walk walk;
	struct codes *codes;
	struct host *host;
};

static const struct code_blob *find_for_walk(struct code_walk *walk, uint64_t pc)
{
	struct host_walk *w = (struct host_walk *)walk;
	struct host *h = w->host;
	const struct code_blob *b;

	if (!host__has(h, pc))
		return NULL;
	b = find_blob(h, pc);
	if (!walk->query->patient || h->given_up || !is_due(b, walk->query->sample->event_ns))
		return b;
	walk->awaits = true;
	if (!h->reading)
		request(w->codes, h, walk->query, pc);
	return NULL;
}

enum managed_result codes__step(void *arg, const struct managed_query *q, struct managed_frame *f)
{
	struct codes *c = arg;
	struct host *h = host__of(c, q->process);
	struct host_walk w = { { q, find_for_walk, false }, c, h };

	if (!h || !host__has(h, f->pc - f->caller))
		return MANAGED_NONE;
	f->own_pc = f->pc;
	f->own_sp = f->sp;
	f->interprets = false;
	return h->layout.runtime->code->step(&w.walk, f);
}

const struct code_blob *codes__at(struct codes *c, const struct process *p, uint64_t place)
{
	struct host *h = host__of(c, p);

	return h ? find_blob(h, place) : NULL;
}

void codes__stats(const struct codes *c, struct codes_stats *s)
{
	*s = c->stats;
}
