// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cputime.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "collector/pipeline.h"
#include "event/kind.h"
#include "worker/workers.h"

#define END_PATIENCE_NS 2000000000 /* for files */
#define END_NS \
	3500000000 /* for files and names; the rest of the end takes another second and a half */
#define NAMES_PATIENCE_NS \
	2000000000 /* patience with the names of a batch; then the collector waits for them … */
#define SWEEP_NS      5000000000 /* interval at which ended threads and processes are forgotten */
#define NAMES_WAIT_NS 1000000000 /* … this long; rings may overflow meanwhile, which is counted */

/* A slow disk reads what a large library needs in a tenth of the wait; a busy thread fills its
 * queue in about the same time. */
#define DEFERRED_NS   5000000000
#define DEFERRED_SZ   ((size_t)64 << 20) /* at most; a quarter of --max-memory */
#define DEFERRED_EACH 4			 /* a process has a quarter of it */

static struct deferred *session_deferred_for(const struct collector_options *o)
{
	size_t max_sz = o->max_memory_sz / 4 < DEFERRED_SZ ? o->max_memory_sz / 4 : DEFERRED_SZ;

	return deferred__new(&(struct deferred_options){
		.max_sz = max_sz, .each_sz = max_sz / DEFERRED_EACH, .wait_ns = DEFERRED_NS });
}

struct session *session__new(const struct collector_options *o, struct recording *recording,
			     const struct census *census, struct runtimes *runtimes)
{
	struct session *s = calloc(1, sizeof(*s));
	bool kernel = options__kernel_stacks(o);

	if (!s)
		return NULL;
	s->recording = recording;
	s->join_min_ns = options__join_min_ns(o);
	s->span_above_ns = UINT64_MAX;
	s->jobs = census->jobs;
	s->processes = census->processes;
	s->joins = open_ops__new();
	s->carry = carry__new();
	s->deferred = session_deferred_for(o);
	s->jit = jit__new(
		&(struct jit_places){ .proc = "/proc", .workers = jobs__workers(s->jobs) });
	if (s->jit)
		s->stacks = stacks__new(recording, s->jit, jobs__workers(s->jobs));
	if (s->stacks && kernel)
		s->kernel = kernel_names__new(s->jobs, s->stacks);
	s->walker = walker__new(&(struct walker_options){
		.options = o,
		.jobs = s->jobs,
		.processes = s->processes,
		.runtimes = runtimes,
		.jit = s->jit,
	});
	if (rows__init(&s->rows, recording, s->processes) == 0 && s->joins && s->carry &&
	    s->stacks && s->deferred && s->walker && (s->kernel || !kernel)) {
		s->rows.has_gaps = s->join_min_ns;
		return s;
	}
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
	jit__free(s->jit);
	kernel_names__free(s->kernel);
	free(s);
}

void session__set_probes(struct session *s, const struct any_probes *any)
{
	s->rows.probes = any;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static void session_on_thread_exit(struct session *s, const struct record *r)
{
	struct thread *t = threads__find(&s->threads, r->tid);

	if (t)
		t->exited = true;
}

/* Reads all mappings again, because some may have been missed. */
static void session_on_sideband_lost(struct session *s, const struct record *r)
{
	uint64_t now_ns = monotonic__ns();

	s->stats.lost_sideband += r->lost.cnt;
	pipeline__loss(s, &(struct capture_loss){ .probe = "process",
						  .reason = "ring_full",
						  .cpu = r->cpu,
						  .cnt = r->lost.cnt });
	if (now_ns - s->rescanned_ns < 1000000000)
		return;
	s->rescanned_ns = now_ns;
	process_table__scan(s->processes);
}

/* A thread that runs another program has the id of its process. */
static void session_on_new_program(struct session *s, const struct record *r)
{
	if (r->type == RECORD_FORK && r->tgid != r->fork.parent_tgid)
		rows__fork(&s->rows, threads__find(&s->threads, r->tgid), r->tgid);
	else if (r->type == RECORD_COMM && r->comm.exec)
		rows__exec(&s->rows, threads__find(&s->threads, r->tgid), r->tgid);
}

void session__records(const struct record *r, size_t cnt, void *arg)
{
	struct session *s = arg;

	if (r->type == RECORD_SAMPLE)
		pipeline__samples(s, r, cnt);
	else if (r->type == RECORD_LOST)
		session_on_sideband_lost(s, r);
	else
		process_table__apply(s->processes, r);
	session_on_new_program(s, r);
	if (r->type == RECORD_EXIT)
		session_on_thread_exit(s, r);
}

/* ---- losses, batches ----------------------------------------------------------------------------
 */

void session__loss(const struct capture_loss *l, void *session)
{
	pipeline__loss(session, l);
}

void session__rate(struct session *s, const struct rate_change *rate)
{
	if (rows__add_rate(&s->rows, rate) != 0)
		s->err = -ENOMEM;
}

static bool session_carry_stacks(struct session *s, const struct resolved_event *sl)
{
	return carry__save(s->carry, s->recording, sl->ustack_id) &&
	       carry__save(s->carry, s->recording, sl->kstack_id);
}

static void session_carry_open(const struct resolved_event *sl, void *arg)
{
	session_carry_stacks(arg, sl);
}

/* Carries the stacks of pending slices and operations into the next batch. If a stack cannot be
 * carried, its slices end here. */
static void session_carry_pending(struct session *s)
{
	open_ops__each(s->joins, session_carry_open, s);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next) {
		if (t->pending && !session_carry_stacks(s, t->pending))
			pipeline__end_slice(s, t);
	}
}

/* Returns true if the batch may close. It must have every stack to which it refers, so it waits for
 * their names, within bounds without blocking. */
static bool session_may_close(struct session *s, uint64_t now_ns)
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

static int session_out_of_memory(struct session *s)
{
	if (!s->said)
		log__error("out of memory: the recording ends here");
	s->said = true;
	return s->err;
}

/* By time and not by batch: after a burst there may be no event, and so no batch, for hours. */
static void session_sweep(struct session *s, uint64_t now_ns)
{
	uint32_t generation = recording__generation(s->recording);
	bool empty = recording__is_empty(s->recording);

	if (now_ns - s->swept_ns < SWEEP_NS)
		return;
	s->swept_ns = now_ns;
	/* the last event of a thread was lost */
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next)
		if (t->exited && threads__is_idle(&s->threads, t))
			pipeline__end_slice(s, t);
	threads__sweep(&s->threads);
	if (empty && s->empty_generation == generation)
		rows__forget(&s->rows);
	s->empty_generation = empty ? generation : 0;
}

int session__tick(struct session *s, uint64_t now_ns)
{
	uint32_t generation = recording__generation(s->recording);
	size_t news = jobs__collect(s->jobs) + stacks__collect(s->stacks);
	int err;

	clock__update(&s->rows.clock);
	if (news || s->backlog || now_ns >= deferred__due_ns(s->deferred))
		s->backlog = !deferred__retry(s->deferred, monotonic__ns(), pipeline__take, s);
	s->losses_from_ns = now_ns;
	if (!session_may_close(s, now_ns))
		return 0;
	if (!s->err)
		s->err = stacks__err(s->stacks);
	if (s->err)
		return session_out_of_memory(s);
	if (recording__due(s->recording, now_ns))
		session_carry_pending(s);
	err = recording__tick(s->recording, now_ns);
	if (generation != recording__generation(s->recording)) {
		carry__restore(s->carry, s->recording);
		rows__sweep(&s->rows);
	}
	session_sweep(s, now_ns);
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

static void session_end_unfinished(const struct resolved_event *sl, void *arg)
{
	struct session *s = arg;
	const struct event end = { .time_ns = s->end_ns,
				   .join = sl->event.join,
				   .reason = EVENT_REASON_PENDING };

	if (sl->event.flags & EVENT_F_PENDING)
		pipeline__close(s, &end);
}

/* Waits for a limited time for files that are being read, and without a limit for the kernel's
 * symbols, which no user can delay. */
static void session_end_waits(struct session *s)
{
	uint64_t until_ns = monotonic__ns() + END_PATIENCE_NS;

	while (deferred__due_ns(s->deferred) != UINT64_MAX &&
	       (monotonic__ns() < until_ns || !kernel_names__ready(s->kernel))) {
		jobs__wait(s->jobs, END_PATIENCE_NS / 100);
		deferred__retry(s->deferred, monotonic__ns(), pipeline__take, s);
	}
	while (!deferred__retry(s->deferred, UINT64_MAX, pipeline__take, s))
		;
}

void session__flush(struct session *s, uint64_t end_ns)
{
	uint64_t until_ns = monotonic__ns() + END_NS;
	uint64_t now_ns;

	s->end_ns = end_ns;
	session_end_waits(s);
	open_ops__each(s->joins, session_end_unfinished, s);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next)
		pipeline__end_slice(s, t);
	now_ns = monotonic__ns();
	stacks__finish(s->stacks, until_ns > now_ns ? until_ns - now_ns : 0);
}

const struct session_stats *session__stats(const struct session *s)
{
	return &s->stats;
}

void session__watch_spans(struct session *s, uint64_t above_ns)
{
	s->span_above_ns = above_ns;
}

uint64_t session__take_slow_span(struct session *s)
{
	uint64_t slow_ns = s->slow_span_ns;

	s->slow_span_ns = 0;
	return slow_ns;
}

uint64_t session__cpu_ns(const struct session *s)
{
	struct workers_stats workers;

	workers__stats(jobs__workers(s->jobs), &workers);
	return cpu_time__ns() + workers.cpu_ns;
}

struct jit *session__jit(const struct session *s)
{
	return s->jit;
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

	t.threads = HASH_COUNT(s->threads.by_tid);
	t.threads_sz = threads__sz(&s->threads);
	t.unnamed_sz = stacks__unnamed_sz(s->stacks);
	t.kernel_names_sz = stacks__kernel_names_sz(s->stacks);
	process_table__stats(s->processes, &t.processes);
	walker__stats(s->walker, &t.unwinder);
	deferred__stats(s->deferred, &t.deferred);
	workers__stats(jobs__workers(s->jobs), &t.workers);
	return t;
}
