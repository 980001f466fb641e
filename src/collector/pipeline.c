// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "event/kind.h"

/* ---- rows ---------------------------------------------------------------------------------------
 */

static void pipeline_add_row(struct session *s, const struct resolved_event *sl,
			     const struct thread *t)
{
	s->stats.rows[sl->event.kind]++;
	if (sl->event.kind == EVENT_TRACE_CLOSE && sl->event.duration_ns > s->span_above_ns)
		s->slow_span_ns = sl->event.duration_ns;
	if (rows__add(&s->rows, sl, t) != 0)
		s->err = -ENOMEM;
}

/* Adds the row of a pending slice with present string IDs, because the batch or the thread's name
 * may have changed. */
static void pipeline_add_pending(struct session *s, struct thread *t)
{
	rows__name(&s->rows, t, &t->pending->event);
	pipeline_add_row(s, t->pending, t);
}

void pipeline__end_slice(struct session *s, struct thread *t)
{
	if (!t->pending)
		return;
	pipeline_add_pending(s, t);
	free(t->pending);
	t->pending = NULL;
}

/* Adds the row of a slice. If a minimum is set, the slice waits until its thread runs again. */
static void pipeline_add_slice(struct session *s, struct thread *t, struct resolved_event *sl)
{
	bool last = sl->event.state == EVENT_STATE_DEAD;

	if (sl->event.kind != EVENT_SWITCH || s->join_min_ns == 0) {
		pipeline_add_row(s, sl, t);
		return;
	}
	if (t->pending && !slice__join(sl, t->pending, s->join_min_ns)) {
		pipeline_add_pending(s, t);
		rows__name(&s->rows, t, &sl->event);
	}
	if (!t->pending && !last)
		t->pending = malloc(sizeof(*t->pending));
	if (t->pending && !last) {
		*t->pending = *sl;
		return;
	}
	pipeline_add_row(s, sl, t);
	free(t->pending);
	t->pending = NULL;
}

void pipeline__loss(struct session *s, const struct capture_loss *l)
{
	session_stats__lose(&s->stats, l);
	if (rows__add_loss(&s->rows, l, s->losses_from_ns, monotonic__ns()) != 0)
		s->err = -ENOMEM;
}

static void pipeline_lose_one(struct session *s, const struct resolved_event *sl,
			      const char *reason)
{
	pipeline__loss(s, &(struct capture_loss){ .probe = event_kind__probe(sl->event.kind),
						  .reason = reason,
						  .cpu = sl->event.cpu,
						  .cnt = 1 });
}

/* Returns the ID, or 0 if the stack of an earlier batch could not be carried over for lack of
 * memory. */
static uint64_t pipeline_carried(const struct session *s, uint64_t stack_id)
{
	return recording__has_stack(s->recording, stack_id) ? stack_id : 0;
}

void pipeline__close(struct session *s, const struct event *e)
{
	struct thread *t;
	struct resolved_event sl;
	struct build_id build_id;
	bool known;

	if (!open_ops__close(s->joins, e, &sl, &build_id))
		return;
	known = threads__find(&s->threads, sl.event.tid) != NULL;
	t = threads__get(&s->threads, sl.event.tid);
	if (!t)
		return;
	t->exited |= !known;
	sl.ustack_id = pipeline_carried(s, sl.ustack_id);
	sl.kstack_id = pipeline_carried(s, sl.kstack_id);
	rows__name(&s->rows, t, &sl.event);
	rows__set_build_id(&s->rows, t, &build_id);
	pipeline_add_row(s, &sl, t);
}

/* Returns true if everything that the row needs, except the user stack, is known. */
static bool pipeline_row_is_ready(const struct session *s, const struct deferred_entry *in)
{
	return (!in->event->kstack_sz || kernel_names__ready(s->kernel)) &&
	       (!in->process || process__named(in->process));
}

/* ---- the five steps -----------------------------------------------------------------------------
 */

/* An event in the pipeline, and what the steps have found. */
struct work {
	const struct deferred_entry *in;
	bool last;		   /* the event must not wait any more */
	const struct trace *trace; /* NULL: no user stack */
	struct thread *thread;
	struct resolved_event row;
};

/* Returns false if a needed file is being read. */
static bool pipeline_walk_stack(struct session *s, struct work *w)
{
	struct process *p = w->in->process;

	if (p && (w->in->event->flags & EVENT_F_USER)) {
		w->trace = walker__walk(s->walker, p, w->in->event, w->last);
		if (!w->trace)
			return false;
	}
	return w->last || pipeline_row_is_ready(s, w->in);
}

/* Returns false if the stack's id needs a symbol table that is being read. */
static bool pipeline_identify_stack(struct session *s, struct work *w)
{
	const struct event *e = w->in->event;
	const struct stack_owner owner = { e->tgid, e->time_ns, w->last };

	w->row.ustack_id = 0;
	if (!w->trace)
		return true;
	if (stacks__user(s->stacks, w->trace, &owner, &w->row.ustack_id) == -EAGAIN)
		return false;
	w->row.unwind = w->trace->status;
	session_stats__walked(&s->stats, e->kind, w->trace->status);
	return true;
}

/* Returns false if out of memory. */
static bool pipeline_name_thread(struct session *s, struct work *w)
{
	w->thread = threads__get(&s->threads, w->in->event->tid);
	if (w->thread)
		rows__name(&s->rows, w->thread, w->in->event);
	return w->thread;
}

/* Fills in the event itself, its kernel stack and its process's build ID. */
static void pipeline_resolve(struct session *s, struct work *w)
{
	const struct event *e = w->in->event;

	w->row.event = *e;
	w->row.kstack_id = 0;
	w->row.gaps_ns = e->kind == EVENT_SWITCH ? e->gaps_ns : 0;
	memcpy(w->row.detail, event__detail(e), e->detail_sz);
	/* if the process of a dead thread is gone from the table, keep the thread's last build ID
	 */
	if (w->in->process)
		rows__set_build_id(&s->rows, w->thread, &w->in->process->build_id);
	if (e->kstack_sz)
		w->row.kstack_id = stacks__kernel(s->stacks, event__kstack(e), event__kstack_cnt(e),
						  e->flags & EVENT_F_INTERRUPT);
}

/* Adds the row, or parks it: an operation until its end, a slice until the thread's next one. */
static void pipeline_emit_or_park(struct session *s, struct work *w)
{
	struct resolved_event given_up;
	const char *reason;

	if (!(w->row.event.flags & EVENT_F_OPEN)) {
		pipeline_add_slice(s, w->thread, &w->row);
		return;
	}
	rows__name_span(&s->rows, &w->row);
	reason = open_ops__open(s->joins, &w->row, &w->thread->build_id, &given_up);
	if (reason)
		pipeline_lose_one(s, &given_up, reason);
}

bool pipeline__take(const struct deferred_entry *in, bool last, void *arg)
{
	struct session *s = arg;
	struct work w;

	if (in->event->flags & EVENT_F_CLOSE) {
		pipeline__close(s, in->event);
		return true;
	}
	/* not cleared, because .row.detail is large */
	w.in = in;
	w.last = last;
	w.trace = NULL;
	if (!pipeline_walk_stack(s, &w) || !pipeline_identify_stack(s, &w))
		return false;
	if (!pipeline_name_thread(s, &w))
		return true;
	pipeline_resolve(s, &w);
	pipeline_emit_or_park(s, &w);
	return true;
}

/* ---- the order of events ------------------------------------------------------------------------
 */

/* Returns true if the event must wait behind others, and sets *tgid to the process that has them in
 * its queue. The events of a thread stay in order; the end of an operation comes after its begin,
 * and the next operation of that name after both. The thread that the end interrupts is unrelated
 * to it. */
static bool pipeline_is_behind(const struct session *s, const struct event *e, uint32_t *tgid)
{
	bool joined = e->flags & (EVENT_F_OPEN | EVENT_F_CLOSE);

	*tgid = e->tgid;
	if (joined && deferred__joined(s->deferred, e->join, tgid))
		return true;
	return !(e->flags & EVENT_F_CLOSE) && deferred__holds(s->deferred, e->tgid);
}

/* Processes the event, or defers it. */
static void pipeline_sample(struct session *s, const struct event *e, struct process *process)
{
	struct deferred_entry in = { .event = e, .process = process };
	bool behind;

	if (e->kind >= EVENT_KIND_CNT || e->state >= EVENT_STATE_CNT ||
	    e->detail_sz > EVENT_DETAIL_MAX)
		return;
	behind = pipeline_is_behind(s, e, &in.tgid);
	if (!behind && pipeline__take(&in, false, s))
		return;
	walker__defer(s->walker, process, e);
	if (deferred__add(s->deferred, &in, monotonic__ns()) == 0)
		deferred__relieve(s->deferred, in.tgid, pipeline__take, s);
	else
		pipeline__take(&in, true, s);
}

static struct process *pipeline_process_of(struct session *s, const struct event *e)
{
	if (e->flags & EVENT_F_USER)
		return process_table__get(s->processes, e->tgid);
	return e->flags & EVENT_F_CLOSE ? NULL : process_table__find(s->processes, e->tgid);
}

void pipeline__samples(struct session *s, const struct record *records, size_t cnt)
{
	struct walker_entry entries[RECORD_BATCH] = { { NULL, NULL } };

	for (size_t i = 0; i < cnt; i++) {
		const struct event *e = records[i].event;

		if (i + EVENT_AHEAD < cnt)
			event__prefetch(records[i + EVENT_AHEAD].event);
		entries[i] = (struct walker_entry){ pipeline_process_of(s, e), e };
	}
	walker__ahead(s->walker, entries, cnt);
	for (size_t i = 0; i < cnt; i++)
		pipeline_sample(s, entries[i].event, entries[i].process);
}
