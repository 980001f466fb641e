// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "collector/carry.h"
#include "collector/joins.h"
#include "collector/rows.h"
#include "collector/slice.h"
#include "collector/stack.h"
#include "collector/thread.h"
#include "event/kind.h"
#include "process/process.h"
#include "unwind/naive.h"
#include "unwind/unwinder.h"

#define NAMES_PATIENCE_NS 2000000000 /* then rings may overflow, and say so */

struct session {
	struct recording *recording;
	struct process_table *processes;
	struct table_cache *cache; /* of the unwinder; NULL: none */
	struct unwinder *unwinder;
	struct naive *naive; /* instead of it, with --unwinder=naive */
	struct kallsyms *kernel;
	struct stacks *stacks;
	struct carry *carry;
	struct rows rows;
	struct joins *joins;
	struct threads threads;
	struct trace trace;
	struct session_stats stats;
	uint64_t join_min_ns;	 /* switch::DUR */
	uint64_t losses_from_ns; /* when losses were last asked for */
	uint64_t rescanned_ns;
	uint64_t end_ns;     /* of the recording, at its end */
	uint64_t overdue_ns; /* since when a batch waits for names; 0: none does */
	int err;	     /* of the recording: stop */
	bool said;
	bool said_full[EVENT_KIND_CNT]; /* of the kind's probe */
};

static uint64_t join_min(const struct options *o)
{
	for (size_t i = 0; i < o->capture.probe_cnt; i++)
		if (strcmp(o->probes[i].probe->name, event_kind__probe(EVENT_SWITCH)) == 0)
			return o->probes[i].param;
	return 0;
}

static struct kallsyms *open_kernel(void)
{
	struct kallsyms *k = kallsyms__new("/proc/kallsyms");

	if (!k)
		log__warn("kernel frames will have no names: /proc/kallsyms: %s%s", strerror(errno),
			  errno == EPERM ? " (needs CAP_SYSLOG, or sysctl kernel.kptr_restrict=0)"
					 : "");
	return k;
}

/* Recording goes on without one. */
static struct table_cache *open_cache(struct session *s, const struct options *o)
{
	if (!o->cache_dir)
		return NULL;
	s->cache = table_cache__new(o->cache_dir, TABLE_CACHE_MAX);
	if (!s->cache)
		log__warn("compiled call-frame tables are not kept: %s: %s", o->cache_dir,
			  errno == EPERM ? "others can write there" : strerror(errno));
	return s->cache;
}

struct session *session__new(const struct options *o, struct recording *recording)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->recording = recording;
	s->join_min_ns = join_min(o);
	s->kernel = open_kernel();
	s->processes = process_table__new("/proc");
	s->joins = joins__new();
	s->carry = carry__new();
	s->stacks = stacks__new(recording, s->kernel);
	if (o->unwinder == UNWINDER_NAIVE)
		s->naive = naive__new();
	else
		s->unwinder = unwinder__new(open_cache(s, o));
	if (rows__init(&s->rows, recording, s->join_min_ns) == 0 && s->processes && s->joins &&
	    s->carry && s->stacks && (s->naive || s->unwinder))
		return s;
	log__error("cannot start: %s", strerror(errno));
	session__free(s);
	return errno = ENOMEM, NULL;
}

void session__free(struct session *s)
{
	if (!s)
		return;
	threads__free(&s->threads);
	stacks__free(s->stacks);
	carry__free(s->carry);
	joins__free(s->joins);
	rows__free(&s->rows);
	unwinder__free(s->unwinder);
	table_cache__free(s->cache);
	naive__free(s->naive);
	process_table__free(s->processes);
	kallsyms__free(s->kernel);
	free(s);
}

int session__scan(struct session *s)
{
	return process_table__scan(s->processes);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static void add_row(struct session *s, const struct slice *sl, const struct thread *t)
{
	s->stats.rows[sl->event.kind]++;
	if (rows__add(&s->rows, sl, t) != 0)
		s->err = -ENOMEM;
}

/* A slice that waited since an earlier batch, or since its thread had another name, gets the ids of
 * now. */
static void add_pending(struct session *s, struct thread *t)
{
	rows__name(&s->rows, t, &t->pending->event);
	add_row(s, t->pending, t);
}

static void end_pending(struct session *s, struct thread *t)
{
	if (!t->pending)
		return;
	add_pending(s, t);
	free(t->pending);
	t->pending = NULL;
}

/* With a minimum a slice waits until it is known how long its thread stays off the CPU. */
static void add_slice(struct session *s, struct thread *t, struct slice *sl)
{
	bool last = sl->event.state == EVENT_STATE_DEAD;

	if (sl->event.kind != EVENT_SWITCH || s->join_min_ns == 0) {
		add_row(s, sl, t);
		return;
	}
	if (t->pending && !slice__join(sl, t->pending, s->join_min_ns)) {
		add_pending(s, t);
		rows__name(&s->rows, t, &sl->event);
	}
	if (!t->pending && !last)
		t->pending = malloc(sizeof(*t->pending));
	if (t->pending && !last) {
		*t->pending = *sl;
		return;
	}
	add_row(s, sl, t);
	free(t->pending);
	t->pending = NULL;
}

/* ---- samples ------------------------------------------------------------------------------------
 */

static void walk(struct session *s, const struct process *p, const struct event *e)
{
	if (s->naive)
		naive__walk(s->naive, p, e, &s->trace);
	else
		unwinder__walk(s->unwinder, p, e, &s->trace);
}

static void unwind(struct session *s, struct process *p, const struct event *e, struct slice *sl)
{
	walk(s, p, e);
	if (s->trace.status == UNWIND_NO_MAP && process_table__refresh(s->processes, p))
		walk(s, p, e);
	sl->ustack_id = stacks__user(s->stacks, &s->trace);
	sl->unwind = s->trace.status;
	s->stats.user_stacks[e->kind]++;
	s->stats.to_root[e->kind] += s->trace.status == UNWIND_ROOT;
	s->stats.unwound[s->trace.status]++;
}

/* Stacks and the process's build ID: the rest is in the event. */
static void resolve(struct session *s, struct thread *t, const struct event *e, struct slice *sl)
{
	struct process *p = e->flags & EVENT_F_USER ? process_table__get(s->processes, e->tgid)
						    : process_table__find(s->processes, e->tgid);

	sl->event = *e;
	sl->ustack_id = sl->kstack_id = sl->gaps_ns = 0;
	memcpy(sl->detail, event__detail(e), e->detail_sz);
	/* A dead thread's process may be gone from the table: its last build ID stands. */
	if (p)
		rows__set_build_id(&s->rows, t, &p->build_id);
	if (p && (e->flags & EVENT_F_USER))
		unwind(s, p, e, sl);
	if (e->kstack_sz)
		sl->kstack_id = stacks__kernel(s->stacks, event__kstack(e), event__kstack_cnt(e),
					       e->flags & EVENT_F_INTERRUPT);
}

static void lose_one(struct session *s, const struct slice *sl, const char *reason)
{
	session__loss(&(struct capture_loss){ .probe = event_kind__probe(sl->event.kind),
					      .reason = reason,
					      .cpu = sl->event.cpu,
					      .cnt = 1 },
		      s);
}

/* A stack of an earlier batch could not be taken over when memory was short. */
static uint64_t carried(const struct session *s, uint64_t stack_id)
{
	return recording__has_stack(s->recording, stack_id) ? stack_id : 0;
}

/* The operation that began earlier is a row now, in the name of who began it. */
static void on_close(struct session *s, const struct event *e)
{
	struct thread *t;
	struct slice sl;
	struct build_id build_id;
	bool known;

	if (!joins__close(s->joins, e, &sl, &build_id))
		return;
	known = threads__find(&s->threads, sl.event.tid) != NULL;
	t = threads__get(&s->threads, sl.event.tid);
	if (!t)
		return;
	t->exited |= !known;
	sl.ustack_id = carried(s, sl.ustack_id);
	sl.kstack_id = carried(s, sl.kstack_id);
	rows__name(&s->rows, t, &sl.event);
	rows__set_build_id(&s->rows, t, &build_id);
	add_row(s, &sl, t);
}

static void on_sample(struct session *s, const struct event *e)
{
	struct slice sl, given_up;
	const char *reason;
	struct thread *t;

	if (e->kind >= EVENT_KIND_CNT || e->state >= EVENT_STATE_CNT ||
	    e->detail_sz > sizeof(sl.detail))
		return;
	if (e->flags & EVENT_F_CLOSE) {
		on_close(s, e);
		return;
	}
	t = threads__get(&s->threads, e->tid);
	if (!t)
		return;
	rows__name(&s->rows, t, e);
	resolve(s, t, e, &sl);
	if (!(e->flags & EVENT_F_OPEN))
		add_slice(s, t, &sl);
	else if ((reason = joins__open(s->joins, &sl, &t->build_id, &given_up)) != NULL)
		lose_one(s, &given_up, reason);
}

static void on_thread_exit(struct session *s, const struct record *r)
{
	struct thread *t = threads__find(&s->threads, r->tid);

	if (t)
		t->exited = true;
}

/* Mappings may have been missed: read them again. */
static void on_sideband_lost(struct session *s, const struct record *r)
{
	uint64_t now_ns = monotonic__ns();

	s->stats.lost_sideband += r->lost.cnt;
	session__loss(&(struct capture_loss){ .probe = "process",
					      .reason = "ring_full",
					      .cpu = r->cpu,
					      .cnt = r->lost.cnt },
		      s);
	if (now_ns - s->rescanned_ns < 1000000000)
		return;
	s->rescanned_ns = now_ns;
	process_table__scan(s->processes);
}

void session__record(const struct record *r, void *arg)
{
	struct session *s = arg;

	if (r->type == RECORD_SAMPLE)
		on_sample(s, r->event);
	else if (r->type == RECORD_LOST)
		on_sideband_lost(s, r);
	else
		process_table__apply(s->processes, r);
	if (r->type == RECORD_EXIT)
		on_thread_exit(s, r);
}

/* ---- losses, batches ----------------------------------------------------------------------------
 */

/* Once for each probe: what it has to remember is bounded. */
static void say_full(struct session *s, size_t kind, const char *probe)
{
	if (s->said_full[kind])
		return;
	s->said_full[kind] = true;
	log__warn("%s: more is under way than there is room for; what is missing is counted in "
		  "rows of the kind lost, with the reason state_full",
		  probe);
}

static void count_loss(struct session *s, const struct capture_loss *l)
{
	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		if (strcmp(event_kind__probe(k), l->probe) != 0)
			continue;
		s->stats.lost[k] += l->cnt;
		if (strcmp(l->reason, "state_full") == 0)
			say_full(s, k, l->probe);
		return;
	}
}

void session__loss(const struct capture_loss *l, void *arg)
{
	struct session *s = arg;

	count_loss(s, l);
	if (rows__add_loss(&s->rows, l, s->losses_from_ns, monotonic__ns()) != 0)
		s->err = -ENOMEM;
}

static bool carry_stacks(struct session *s, const struct slice *sl)
{
	return carry__save(s->carry, s->recording, sl->ustack_id) &&
	       carry__save(s->carry, s->recording, sl->kstack_id);
}

static void carry_open(const struct slice *sl, void *arg)
{
	carry_stacks(arg, sl);
}

/* The slices and operations that wait go on in the next batch, with their stacks; where that cannot
 * be had slices wait no longer. */
static void carry_pending(struct session *s)
{
	joins__each(s->joins, carry_open, s);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next) {
		if (t->pending && !carry_stacks(s, t->pending))
			end_pending(s, t);
	}
}

/* A batch has every stack that it refers to: it waits for their names, within reason without
 * blocking. */
static bool may_close(struct session *s, uint64_t now_ns)
{
	bool named = stacks__collect(s->stacks);

	if (named || !recording__due(s->recording, now_ns)) {
		s->overdue_ns = 0;
		return true;
	}
	if (!s->overdue_ns)
		s->overdue_ns = now_ns;
	if (now_ns - s->overdue_ns < NAMES_PATIENCE_NS)
		return false;
	stacks__finish(s->stacks);
	return true;
}

static int out_of_memory(struct session *s)
{
	if (!s->said)
		log__error("out of memory: the recording ends here");
	s->said = true;
	return s->err;
}

int session__tick(struct session *s, uint64_t now_ns)
{
	uint32_t generation = recording__generation(s->recording);
	int err;

	clock__update(&s->rows.clock);
	if (s->unwinder)
		unwinder__collect(s->unwinder);
	s->losses_from_ns = now_ns;
	if (!may_close(s, now_ns))
		return 0;
	if (!s->err)
		s->err = stacks__err(s->stacks);
	if (s->err)
		return out_of_memory(s);
	if (recording__due(s->recording, now_ns))
		carry_pending(s);
	err = recording__tick(s->recording, now_ns);
	if (generation != recording__generation(s->recording)) {
		carry__restore(s->carry, s->recording);
		threads__sweep(&s->threads);
	}
	return err;
}

static void end_unfinished(const struct slice *sl, void *arg)
{
	struct session *s = arg;
	const struct event end = { .time_ns = s->end_ns,
				   .join = sl->event.join,
				   .reason = EVENT_REASON_PENDING };

	if (sl->event.flags & EVENT_F_PENDING)
		on_close(s, &end);
}

void session__flush(struct session *s, uint64_t end_ns)
{
	s->end_ns = end_ns;
	joins__each(s->joins, end_unfinished, s);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next)
		end_pending(s, t);
	stacks__finish(s->stacks);
}

const struct session_stats *session__stats(const struct session *s)
{
	return &s->stats;
}

struct session_totals session__totals(const struct session *s)
{
	struct session_totals t = { .lost = s->stats.lost_sideband,
				    .unnamed = stacks__unnamed(s->stacks) };

	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		t.rows += s->stats.rows[k];
		t.user_stacks += s->stats.user_stacks[k];
		t.to_root += s->stats.to_root[k];
		t.lost += s->stats.lost[k];
	}
	if (s->unwinder)
		unwinder__stats(s->unwinder, &t.unwinder);
	return t;
}
