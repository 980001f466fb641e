// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "stacks/carry.h"
#include "collector/openops.h"
#include "stacks/kernelnames.h"
#include "collector/rows.h"
#include "collector/slice.h"
#include "collector/deferred.h"
#include "stacks/stack.h"
#include "collector/threadtable.h"
#include "collector/walker.h"
#include "event/kind.h"
#include "process/process.h"

#define END_PATIENCE_NS	  2000000000 /* for files */
#define END_NS		  3500000000 /* for files and names; to end takes another second and a half */
#define NAMES_PATIENCE_NS 2000000000 /* of a batch; then the collector waits for them: */
#define NAMES_WAIT_NS	  1000000000 /* rings may overflow meanwhile, and say so */

struct session {
	struct recording *recording;
	struct process_table *processes;
	struct jobs *jobs;
	struct walker *walker;
	struct kernel_names *kernel; /* NULL: no source takes kernel stacks */
	struct stacks *stacks;
	struct carry *carry;
	struct deferred *deferred;
	struct rows rows;
	struct open_ops *joins;
	struct threads threads;
	struct session_stats stats;
	uint64_t join_min_ns;	 /* switch::DUR */
	uint64_t losses_from_ns; /* when losses were last asked for */
	uint64_t rescanned_ns;
	uint64_t end_ns;     /* of the recording, at its end */
	uint64_t overdue_ns; /* since when a batch waits for names; 0: none does */
	int err;	     /* of the recording: stop */
	bool backlog;	     /* of the deferred: its files are there */
	bool said;
};

/* A slow disk reads what a large library needs in a tenth of the time; a busy thread fills as much
 * in one. */
static const struct deferred_options deferred_options = {
	.max_sz = 64 << 20,
	.each_sz = 16 << 20,
	.wait_ns = 5000000000,
};

struct session *session__new(const struct options *o, struct recording *recording,
			     const struct census *census, struct runtimes *runtimes)
{
	struct session *s = calloc(1, sizeof(*s));
	bool kernel = options__kernel_stacks(o);

	if (!s)
		return NULL;
	s->recording = recording;
	s->join_min_ns = options__join_min_ns(o);
	s->jobs = census->jobs;
	s->processes = census->processes;
	s->joins = open_ops__new();
	s->carry = carry__new();
	s->deferred = deferred__new(&deferred_options);
	s->stacks = stacks__new(recording, NULL);
	if (s->stacks && kernel)
		s->kernel = kernel_names__new(s->jobs, s->stacks);
	s->walker = walker__new(&(struct walker_options){ o, s->jobs, s->processes, runtimes });
	if (rows__init(&s->rows, recording, s->join_min_ns) == 0 && s->joins && s->carry &&
	    s->stacks && s->deferred && s->walker && (s->kernel || !kernel))
		return s;
	log__error("cannot start: %s", strerror(errno));
	session__free(s);
	return errno = ENOMEM, NULL;
}

void session__free(struct session *s)
{
	if (!s)
		return;
	deferred__free(s->deferred);
	threads__free(&s->threads);
	stacks__free(s->stacks);
	carry__free(s->carry);
	open_ops__free(s->joins);
	rows__free(&s->rows);
	walker__free(s->walker);
	kernel_names__free(s->kernel);
	free(s);
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

/* The kernel stack and the process's build ID: the rest is in the event. */
static void resolve(struct session *s, struct thread *t, const struct deferred_entry *in,
		    struct slice *sl)
{
	const struct event *e = in->event;

	sl->event = *e;
	sl->kstack_id = sl->gaps_ns = 0;
	memcpy(sl->detail, event__detail(e), e->detail_sz);
	/* A dead thread's process may be gone from the table: its last build ID stands. */
	if (in->process)
		rows__set_build_id(&s->rows, t, &in->process->build_id);
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

/* Makes the row of an operation that ended. It belongs to the thread that began it. */
static void on_close(struct session *s, const struct event *e)
{
	struct thread *t;
	struct slice sl;
	struct build_id build_id;
	bool known;

	if (!open_ops__close(s->joins, e, &sl, &build_id))
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

/* Whether all is known that the row needs besides the user stack. */
static bool is_ready(const struct session *s, const struct deferred_entry *in)
{
	return (!in->event->kstack_sz || kernel_names__ready(s->kernel)) &&
	       (!in->process || process__named(in->process));
}

/* An event that may have waited. False: it has to. */
static bool take(const struct deferred_entry *in, bool last, void *arg)
{
	struct session *s = arg;
	const struct event *e = in->event;
	struct slice sl, given_up;
	bool user = in->process && (e->flags & EVENT_F_USER);
	const struct trace *trace;
	const char *reason;
	struct thread *t;

	if (e->flags & EVENT_F_CLOSE) {
		on_close(s, e);
		return true;
	}
	trace = user ? walker__walk(s->walker, in->process, e, last) : NULL;
	if (user && !trace)
		return false;
	if (!last && !is_ready(s, in))
		return false;
	sl.ustack_id = 0;
	if (trace &&
	    stacks__user(s->stacks, trace, &(struct stack_owner){ e->tgid, e->time_ns, last },
			 &sl.ustack_id) == -EAGAIN)
		return false;
	if (trace) {
		sl.unwind = trace->status;
		session_stats__walked(&s->stats, e->kind, trace->status);
	}
	t = threads__get(&s->threads, e->tid);
	if (!t)
		return true;
	rows__name(&s->rows, t, e);
	resolve(s, t, in, &sl);
	if (!(e->flags & EVENT_F_OPEN))
		add_slice(s, t, &sl);
	else if ((reason = open_ops__open(s->joins, &sl, &t->build_id, &given_up)) != NULL)
		lose_one(s, &given_up, reason);
	return true;
}

/* Returns true if the event must wait behind others, and sets *tgid to the process that has them in
 * its queue. The events of a thread stay in order; the end of an operation comes after its begin,
 * and the next operation of that name after both. The thread that the end interrupts is unrelated
 * to it. */
static bool is_behind(const struct session *s, const struct event *e, uint32_t *tgid)
{
	bool joined = e->flags & (EVENT_F_OPEN | EVENT_F_CLOSE);

	*tgid = e->tgid;
	if (joined && deferred__joined(s->deferred, e->join, tgid))
		return true;
	return !(e->flags & EVENT_F_CLOSE) && deferred__holds(s->deferred, e->tgid);
}

static void on_sample(struct session *s, const struct event *e, struct process *process)
{
	struct deferred_entry in = { .event = e, .process = process };
	bool behind;

	if (e->kind >= EVENT_KIND_CNT || e->state >= EVENT_STATE_CNT ||
	    e->detail_sz > EVENT_DETAIL_MAX)
		return;
	behind = is_behind(s, e, &in.tgid);
	if (!behind && take(&in, false, s))
		return;
	if (deferred__add(s->deferred, &in, monotonic__ns()) == 0)
		deferred__relieve(s->deferred, in.tgid, take, s);
	else
		take(&in, true, s);
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

static struct process *process_of(struct session *s, const struct event *e)
{
	if (e->flags & EVENT_F_USER)
		return process_table__get(s->processes, e->tgid);
	return e->flags & EVENT_F_CLOSE ? NULL : process_table__find(s->processes, e->tgid);
}

static void on_samples(struct session *s, const struct record *records, size_t cnt)
{
	struct walker_entry entries[RECORD_BATCH] = { { NULL, NULL } };

	for (size_t i = 0; i < cnt; i++) {
		const struct event *e = records[i].event;

		if (i + EVENT_AHEAD < cnt)
			event__prefetch(records[i + EVENT_AHEAD].event);
		entries[i] = (struct walker_entry){ process_of(s, e), e };
	}
	walker__ahead(s->walker, entries, cnt);
	for (size_t i = 0; i < cnt; i++)
		on_sample(s, entries[i].event, entries[i].process);
}

void session__records(const struct record *r, size_t cnt, void *arg)
{
	struct session *s = arg;

	if (r->type == RECORD_SAMPLE)
		on_samples(s, r, cnt);
	else if (r->type == RECORD_LOST)
		on_sideband_lost(s, r);
	else
		process_table__apply(s->processes, r);
	if (r->type == RECORD_EXIT)
		on_thread_exit(s, r);
}

/* ---- losses, batches ----------------------------------------------------------------------------
 */

void session__loss(const struct capture_loss *l, void *arg)
{
	struct session *s = arg;

	session_stats__lose(&s->stats, l);
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
	open_ops__each(s->joins, carry_open, s);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next) {
		if (t->pending && !carry_stacks(s, t->pending))
			end_pending(s, t);
	}
}

/* A batch has every stack that it refers to: it waits for their names, within reason without
 * blocking. */
static bool may_close(struct session *s, uint64_t now_ns)
{
	bool named = stacks__unnamed(s->stacks) == 0;

	if (named || !recording__due(s->recording, now_ns)) {
		s->overdue_ns = 0;
		return true;
	}
	if (!s->overdue_ns)
		s->overdue_ns = now_ns;
	if (now_ns - s->overdue_ns < NAMES_PATIENCE_NS)
		return false;
	stacks__finish(s->stacks, NAMES_WAIT_NS);
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
	size_t news = jobs__collect(s->jobs) + stacks__collect(s->stacks);
	int err;

	clock__update(&s->rows.clock);
	if (news || s->backlog || now_ns >= deferred__due_ns(s->deferred))
		s->backlog = !deferred__retry(s->deferred, monotonic__ns(), take, s);
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

int session__fd(const struct session *s)
{
	return jobs__fd(s->jobs);
}

bool session__backlog(const struct session *s)
{
	return s->backlog;
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

/* Waits for a limited time for files that are being read, and without a limit for the kernel's
 * symbols, which no user can hold up. */
static void end_waits(struct session *s)
{
	uint64_t until_ns = monotonic__ns() + END_PATIENCE_NS;

	while (deferred__due_ns(s->deferred) != UINT64_MAX &&
	       (monotonic__ns() < until_ns || !kernel_names__ready(s->kernel))) {
		jobs__wait(s->jobs, END_PATIENCE_NS / 100);
		deferred__retry(s->deferred, monotonic__ns(), take, s);
	}
	while (!deferred__retry(s->deferred, UINT64_MAX, take, s))
		;
}

void session__flush(struct session *s, uint64_t end_ns)
{
	uint64_t until_ns = monotonic__ns() + END_NS;
	uint64_t now_ns;

	s->end_ns = end_ns;
	end_waits(s);
	open_ops__each(s->joins, end_unfinished, s);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next)
		end_pending(s, t);
	now_ns = monotonic__ns();
	stacks__finish(s->stacks, until_ns > now_ns ? until_ns - now_ns : 0);
}

const struct session_stats *session__stats(const struct session *s)
{
	return &s->stats;
}

struct session_totals session__totals(const struct session *s)
{
	const struct session_stats *st = &s->stats;
	struct session_totals t = { .rows = session_stats__sum(st->rows),
				    .user_stacks = session_stats__sum(st->user_stacks),
				    .to_root = session_stats__sum(st->to_root),
				    .lost = st->lost_sideband + session_stats__sum(st->lost),
				    .reading = jobs__pending(s->jobs),
				    .unnamed = stacks__unnamed(s->stacks),
				    .nameless = stacks__nameless(s->stacks) };

	walker__stats(s->walker, &t.unwinder);
	deferred__stats(s->deferred, &t.deferred);
	return t;
}
