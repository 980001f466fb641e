// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtimes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "process/crowd.h"
#include "runtime/codes.h"
#include "runtime/expand.h"
#include "runtime/interleave.h"
#include "runtime/locate.h"
#include "runtime/scripts.h"
#include "worker/workers.h"

#define LOOKING_MAX  256 /* jobs */
#define SEEN_CNT     4096
#define AGAIN_NS     20000000 /* until a runtime that has not started is looked for again */
#define AGAIN_MAX_NS 1000000000
#define ALONE_NS     30000000000 /* until a process is looked at again after workers failed */

/* A process as it was looked at last. */
struct seen {
	uint32_t tgid;
	bool looking;
	bool waits;	  /* its events wait for the end of the look */
	uint64_t version; /* of its mappings */
	uint64_t again_ns, wait_ns;
	uint64_t rest_ns; /* no look before this time */
};

struct runtimes {
	struct runtimes_options options;
	int proc;
	struct scripts *scripts;
	struct codes *codes;
	size_t looking_cnt;
	struct seen seen[SEEN_CNT];
	struct runtime_layout layouts[CAPTURE_RUNTIMES_MAX]; /* by event_runtime.layout */
	size_t layout_cnt;
	bool said_full;
	uint32_t said_version; /* the last unknown one */
	struct event_call calls[EVENT_CALLS_MAX];
	struct event_call descriptions[EVENT_CALLS_MAX]; /* of the functions of these; or all 0 */
	struct runtime_run runs[EVENT_CALLS_MAX + 1];
	struct script_call script_calls[EVENT_CALLS_MAX];
	struct interleave_room room;
	struct expand_room expand_room;
};

struct runtimes *runtimes__new(const struct runtimes_options *o)
{
	struct runtimes *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->options = *o;
	r->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->scripts = scripts__new(r->proc, o->jobs);
	r->codes = codes__new(r->proc, o->jobs);
	if (r->proc >= 0 && r->scripts && r->codes)
		return r;
	runtimes__free(r);
	return NULL;
}

size_t runtimes__sz(const struct runtimes *r)
{
	struct codes_stats codes;

	if (!r)
		return 0;
	codes__stats(r->codes, &codes);
	return scripts__sz(r->scripts) + codes.sz;
}

void runtimes__sweep(struct runtimes *r)
{
	if (!r)
		return;
	scripts__sweep(r->scripts);
	codes__sweep(r->codes);
}

size_t runtimes__shrink(struct runtimes *r, size_t sz)
{
	size_t freed = r ? scripts__shrink(r->scripts, sz) : 0;

	if (r && freed < sz)
		freed += codes__shrink(r->codes, sz - freed);
	return freed;
}

void runtimes__free(struct runtimes *r)
{
	if (!r)
		return;
	scripts__free(r->scripts);
	codes__free(r->codes);
	if (r->proc >= 0)
		close(r->proc);
	free(r);
}

static int runtime__index(const char *name, size_t sz)
{
	for (int i = 0; runtimes_table[i]; i++)
		if (strlen(runtimes_table[i]->name) == sz &&
		    strncmp(runtimes_table[i]->name, name, sz) == 0)
			return i;
	return -EINVAL;
}

int runtimes__parse(const char *list, uint32_t *wanted)
{
	*wanted = 0;
	for (const char *at = list; *at;) {
		size_t sz = strcspn(at, ",");
		int i = runtime__index(at, sz);

		if (i < 0)
			return i;
		*wanted |= 1u << i;
		at += sz + (at[sz] == ',');
	}
	return *wanted ? 0 : -EINVAL;
}

/* ---- which process has one ----------------------------------------------------------------------
 */

struct look {
	struct job job;
	struct runtimes *runtimes; /* only while there are jobs */
	struct locate_wish wish;   /* with a reference to the workers */
	uint64_t from_ns;
	struct located located;
	bool done, failed; /* failed: workers did */
};

/* Returns the runtime that the process may have, or NULL. */
static const struct runtime *runtimes_may_have(const struct runtimes *r, const struct process *p)
{
	for (size_t i = 0; i < p->map_cnt; i++) {
		const char *path = p->maps[i].path, *slash = path ? strrchr(path, '/') : NULL;

		for (size_t n = 0; slash && runtimes_table[n]; n++)
			if (r->options.wanted >> n & 1 && runtimes_table[n]->may_have(slash + 1))
				return runtimes_table[n];
	}
	return NULL;
}

static void runtimes_look_work(struct job *job)
{
	struct look *l = (struct look *)job;

	l->failed = !locate__process(&l->wish, &l->located);
	l->done = !l->failed;
}

/* Returns the index of an equal layout, which is added if it is new; -ENOSPC. */
static int layout__index(struct runtimes *r, const struct runtime_layout *l)
{
	for (size_t i = 0; i < r->layout_cnt; i++)
		if (memcmp(&r->layouts[i], l, sizeof(*l)) == 0)
			return (int)i;
	if (r->layout_cnt == CAPTURE_RUNTIMES_MAX)
		return -ENOSPC;
	r->layouts[r->layout_cnt] = *l;
	return (int)r->layout_cnt++;
}

static void runtimes_say_unknown(struct runtimes *r, const struct look *l)
{
	const struct located *at = &l->located;
	char version[32];

	if (r->said_version == at->layout.version)
		return;
	r->said_version = at->layout.version;
	at->runtime->print_version(at->layout.version, version, sizeof(version));
	log__warn("process %u: %s is %s %s, of which this program cannot read the calls; its "
		  "stacks have native frames only",
		  l->wish.tgid, at->file, at->runtime->name, version);
}

/* Its functions are walked with the stack: BPF reads nothing. */
static void look_take_code(struct runtimes *r, struct look *l)
{
	const struct located *at = &l->located;

	codes__add(r->codes,
		   &(struct codes_owner){ l->wish.tgid, l->from_ns, &at->layout, &at->ranges });
	log__debug("process %u: %s is %s %u; its code is in %zu places", l->wish.tgid, at->file,
		   at->runtime->name, at->layout.version, at->ranges.cnt);
}

static void look_take_calls(struct runtimes *r, struct look *l)
{
	struct located *at = &l->located;
	int layout = layout__index(r, &at->layout);

	if (layout < 0) {
		if (!r->said_full)
			log__warn("too many versions of runtimes: some programs have native frames "
				  "only");
		r->said_full = true;
		return;
	}
	at->where.layout = (uint32_t)layout;
	at->where.code_mask = at->layout.code_mask;
	at->where.cookie_off = at->layout.cookie_off;
	memcpy(at->where.cookie, at->layout.cookie, sizeof(at->where.cookie));
	r->options.found(at->ino, &at->where, r->options.arg);
	log__debug("process %u: %s is %s; its calls are recorded (state at %lld, inode %llu)",
		   l->wish.tgid, at->file, at->runtime->name, (long long)at->where.state_off[0],
		   (unsigned long long)at->ino);
}

static void runtimes_look_take(struct runtimes *r, struct look *l)
{
	if (l->located.runtime->code)
		look_take_code(r, l);
	if (l->located.runtime->split)
		look_take_calls(r, l);
}

static struct seen *seen__of(struct runtimes *r, uint32_t tgid)
{
	return &r->seen[tgid * 0x9e3779b1u >> 20];
}

static void runtimes_look_done(struct job *job)
{
	struct look *l = (struct look *)job;
	struct runtimes *r = l->runtimes;
	struct seen *s = seen__of(r, l->wish.tgid);

	r->looking_cnt--;
	if (s->tgid == l->wish.tgid) {
		s->looking = false;
		s->again_ns = UINT64_MAX;
	}
	if (l->failed && s->tgid == l->wish.tgid)
		s->again_ns = monotonic__ns() + ALONE_NS;
	else if (l->done && l->located.runtime && l->located.err == 0)
		runtimes_look_take(r, l);
	else if (l->done && l->located.runtime && l->located.err == -ENOTSUP)
		runtimes_say_unknown(r, l);
	else if (s->tgid == l->wish.tgid && l->located.err == -EAGAIN) {
		s->again_ns = monotonic__ns() + s->wait_ns;
		s->wait_ns = s->wait_ns < AGAIN_MAX_NS ? 2 * s->wait_ns : AGAIN_MAX_NS;
	}
	workers__put(l->wish.workers);
	free(l);
}

static void look__submit(struct runtimes *r, const struct process *p, struct seen *s)
{
	uint32_t tgid = p->tgid;
	struct look *l = calloc(1, sizeof(*l));

	if (!l)
		return;
	l->job = (struct job){ .rank = JOB_NEXT,
			       .lane = crowd__lane(r->proc, tgid),
			       .crowd = crowd__of(r->proc, tgid),
			       .work = runtimes_look_work,
			       .done = runtimes_look_done };
	l->runtimes = r;
	l->wish = (struct locate_wish){ r->proc, tgid, r->options.wanted,
					workers__get(jobs__workers(r->options.jobs)) };
	l->from_ns = p->from_ns;
	s->looking = true;
	r->looking_cnt++;
	jobs__submit(r->options.jobs, &l->job);
}

/* Returns true if nothing has changed since the last look. */
static bool seen__is_current(const struct seen *s, const struct process *p)
{
	return s->tgid == p->tgid && s->version == p->version &&
	       (s->again_ns == UINT64_MAX || s->looking || monotonic__ns() < s->again_ns);
}

/* However often a process changes its mappings, and whoever shares its slot, it costs a look every
 * 20 ms at most. */
void runtimes__look(struct runtimes *r, const struct process *p)
{
	struct seen *s = seen__of(r, p->tgid);
	const struct runtime *runtime;
	uint64_t now_ns;

	if (seen__is_current(s, p))
		return;
	now_ns = monotonic__ns();
	if (s->looking || now_ns < s->rest_ns || r->looking_cnt >= LOOKING_MAX)
		return;
	if (s->tgid != p->tgid)
		*s = (struct seen){ .tgid = p->tgid, .wait_ns = AGAIN_NS };
	s->version = p->version;
	s->again_ns = UINT64_MAX;
	s->rest_ns = now_ns + AGAIN_NS;
	runtime = runtimes_may_have(r, p);
	s->waits = runtime && runtime->code && !runtime->split;
	if (runtime)
		look__submit(r, p, s);
}

bool runtimes__is_looking(const struct runtimes *r)
{
	return r->looking_cnt > 0;
}

/* ---- the calls of an event ----------------------------------------------------------------------
 */

/* Returns false while the function is being read. */
static bool runtimes_fill_call(struct runtimes *r, const struct runtime_layout *l,
			       struct runtime_run *run, size_t i)
{
	const struct runtime *runtime = l->runtime;
	struct script_call *out = &r->script_calls[i];
	const struct event_call *c = &r->calls[i];
	uint64_t instr = runtime->instr ? runtime->instr(l, c) : c->instr;
	const struct script_function *f;
	bool reads = false;

	if (!c->code) { /* a frame that only links others */
		*out = (struct script_call){ 0 };
		return true;
	}
	f = scripts__find(r->scripts, c, &r->descriptions[i], &reads);
	*out = (struct script_call){ .script = &runtime->unknown };
	if (!f || (!script_function__line(f, instr, &out->line) && !runtime->keeps_name))
		return !reads;
	if (runtime->has_core && i == run->first && !f->sz)
		run->entry = f->start;
	out->script = runtime->is_hidden && runtime->is_hidden(&f->script) ? NULL : &f->script;
	out->line_in = out->line ? out->line - f->first_line + 1 : 0;
	return true;
}

/* Moves the descriptions out of the first `cnt` calls. Returns how many are left. */
static size_t runtimes_take_descriptions(struct runtimes *r, size_t cnt)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt; i++, n++) {
		r->calls[n] = r->calls[i];
		r->descriptions[n] = (struct event_call){ 0 };
		if (r->calls[n].word & CAPTURE_PHP_DESCRIBED && i + 1 < cnt)
			r->descriptions[n] = r->calls[++i];
	}
	return n;
}

/* Fills .calls. Returns how many there are; sets *layout to NULL if the event makes no sense. */
static size_t runtimes_take_calls(struct runtimes *r, const struct event *e,
				  struct runtime_calls *c)
{
	struct event_runtime head;
	const uint8_t *bytes = event__runtime(e, &head);

	c->base = head.base;
	c->cut = head.cut;
	c->calls = r->calls;
	c->cnt = e->call_cnt < EVENT_CALLS_MAX ? e->call_cnt : EVENT_CALLS_MAX;
	c->layout = head.layout < r->layout_cnt ? &r->layouts[head.layout] : NULL;
	memcpy(r->calls, bytes, c->cnt * sizeof(*r->calls));
	if (c->layout && c->layout->runtime->read_described)
		c->cnt = runtimes_take_descriptions(r, c->cnt);
	if (c->cnt && c->layout && c->layout->runtime->leaf_instr)
		r->calls[0].instr = c->layout->runtime->leaf_instr(e, &r->calls[0]);
	return c->cnt;
}

static bool runtimes_is_looked_at(struct runtimes *r, const struct process *p)
{
	const struct seen *s = seen__of(r, p->tgid);

	return s->tgid == p->tgid && s->looking && s->waits;
}

/* The functions of code that a runtime has made. */
static bool runtimes_merge_code(struct runtimes *r, const struct runtimes_event *e, struct trace *t)
{
	const struct process *p = e->process;
	struct scripts_owner owner = { p->tgid, p->from_ns, codes__layout(r->codes, p), 0 };
	bool all;

	if (!owner.layout)
		return e->last || !runtimes_is_looked_at(r, p);
	if (owner.layout->runtime->split)
		return true;
	if (!scripts__begin(r->scripts, &owner))
		return e->last;
	all = expand__frames(t,
			     &(struct expand_input){ p, e->event, e->stack, r->codes, r->scripts },
			     e->last, &r->expand_room);
	scripts__request(r->scripts);
	return all;
}

struct managed_code runtimes__code(struct runtimes *r)
{
	return (struct managed_code){ codes__step, codes__may_own, r->codes };
}

void runtimes__request(struct runtimes *r, const struct process *p, const struct event *e)
{
	struct scripts_owner owner = { p->tgid, p->from_ns, NULL, e->time_ns };
	struct runtime_calls c = { 0 };
	bool reads = false;

	if (!(e->flags & EVENT_F_RUNTIME) || !runtimes_take_calls(r, e, &c) || !c.layout)
		return;
	owner.layout = c.layout;
	if (!scripts__begin(r->scripts, &owner))
		return;
	for (size_t i = 0; i < c.cnt; i++)
		scripts__find(r->scripts, &r->calls[i], &r->descriptions[i], &reads);
	scripts__request(r->scripts);
}

bool runtimes__merge(struct runtimes *r, const struct runtimes_event *e, struct trace *t)
{
	struct runtime_calls c = { .stack = e->stack, .trace = t };
	struct interleave_input in = { .runs = r->runs, .calls = r->script_calls };
	struct scripts_owner owner = { e->process->tgid, e->process->from_ns, NULL,
				       e->event->time_ns };
	bool all = true;

	if (!(e->event->flags & EVENT_F_RUNTIME)) {
		runtimes__look(r, e->process);
		return runtimes_merge_code(r, e, t);
	}
	if (!runtimes_take_calls(r, e->event, &c) || !c.layout)
		return true;
	owner.layout = c.layout;
	if (!scripts__begin(r->scripts, &owner))
		return e->last;
	in.runtime = c.layout->runtime;
	in.cut = c.cut;
	in.waits = c.layout->waits;
	in.layout = c.layout;
	in.stack = e->stack;
	in.run_cnt = in.runtime->split(&c, r->runs);
	for (size_t run = 0; run < in.run_cnt; run++)
		for (size_t i = 0; i < r->runs[run].cnt; i++)
			all &= runtimes_fill_call(r, c.layout, &r->runs[run],
						  r->runs[run].first + i);
	scripts__request(r->scripts);
	if (!all && !e->last)
		return false;
	interleave__calls(t, &in, &r->room);
	return true;
}
