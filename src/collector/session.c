// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "collector/carry.h"
#include "collector/cgroup.h"
#include "collector/clock.h"
#include "collector/labels.h"
#include "collector/slice.h"
#include "collector/stack.h"
#include "collector/thread.h"
#include "event/kind.h"
#include "process/process.h"
#include "unwind/naive.h"
#include "unwind/unwinder.h"

#define NAMES_PATIENCE_NS 2000000000 /* then rings may overflow, and say so */

struct session {
	struct clock clock;
	struct recording *recording;
	struct process_table *processes;
	struct unwinder *unwinder;
	struct naive *naive; /* instead of it, with --unwinder=naive */
	struct kallsyms *kernel;
	struct cgroups *cgroups;
	struct stacks *stacks;
	struct carry *carry;
	struct labels labels;
	struct threads threads;
	struct trace trace;
	struct session_stats stats;
	uint64_t join_min_ns;	 /* switch::DUR */
	uint64_t losses_from_ns; /* when losses were last asked for */
	uint64_t rescanned_ns;
	uint64_t overdue_ns; /* since when a batch waits for names; 0: none does */
	int err;	     /* of the recording: stop */
	bool said;
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

struct session *session__new(const struct options *o, struct recording *recording)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	clock__init(&s->clock);
	s->recording = recording;
	s->join_min_ns = join_min(o);
	s->kernel = open_kernel();
	s->processes = process_table__new("/proc");
	s->cgroups = cgroups__new();
	s->carry = carry__new();
	s->stacks = stacks__new(recording, s->kernel);
	if (o->unwinder == UNWINDER_NAIVE)
		s->naive = naive__new();
	else
		s->unwinder = unwinder__new();
	if (s->processes && s->cgroups && s->carry && s->stacks && (s->naive || s->unwinder))
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
	cgroups__free(s->cgroups);
	unwinder__free(s->unwinder);
	naive__free(s->naive);
	process_table__free(s->processes);
	kallsyms__free(s->kernel);
	free(s);
}

int session__scan(struct session *s)
{
	return process_table__scan(s->processes);
}

/* ---- a thread's strings -------------------------------------------------------------------------
 */

static uint32_t comm_id(struct session *s, const char comm[EVENT_COMM_SZ])
{
	return recording__string(s->recording, comm, strnlen(comm, EVENT_COMM_SZ));
}

static uint32_t cgroup_id(struct session *s, uint64_t id)
{
	const char *path = id ? cgroups__path(s->cgroups, id) : NULL;

	return path ? recording__string(s->recording, path, strlen(path)) : 0;
}

/* Makes the ids that the event or a new batch asks for; compares bytes, looks up nothing when they
 * are the same. */
static void refresh_thread(struct session *s, struct thread *t, const struct event *e)
{
	bool all = t->generation != s->labels.generation;

	if (all || memcmp(t->comm, e->comm, sizeof(t->comm)) != 0) {
		memcpy(t->comm, e->comm, sizeof(t->comm));
		t->comm_id = comm_id(s, t->comm);
	}
	if (all || memcmp(t->name, e->thread, sizeof(t->name)) != 0) {
		memcpy(t->name, e->thread, sizeof(t->name));
		t->name_id = comm_id(s, t->name);
	}
	if (all || t->cgroup_id != e->cgroup_id) {
		t->cgroup_id = e->cgroup_id;
		t->cgroup_str_id = cgroup_id(s, t->cgroup_id);
	}
	if (all)
		t->build_id_id = recording__bytes(s->recording, t->build_id.bytes, t->build_id.sz);
	t->generation = s->labels.generation;
	t->tgid = e->tgid;
}

static void set_build_id(struct session *s, struct thread *t, const struct build_id *id)
{
	if (memcmp(&t->build_id, id, sizeof(*id)) == 0)
		return;
	t->build_id = *id;
	t->build_id_id = recording__bytes(s->recording, id->bytes, id->sz);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static int64_t at_most_int64(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static void add_row(struct session *s, const struct slice *sl, const struct thread *t)
{
	const struct event *e = &sl->event;
	struct row row = {
		.timestamp = clock__unix_ns(&s->clock, e->time_ns),
		.duration = at_most_int64(e->duration_ns),
		.id = e->id,
		.amount = at_most_int64(e->amount),
		.ustack_id = sl->ustack_id,
		.kstack_id = sl->kstack_id,
		.runnable = at_most_int64(e->runnable_ns),
		.gaps = at_most_int64(sl->gaps_ns),
		.cpu = e->cpu,
		.tgid = (int32_t)e->tgid,
		.pid = (int32_t)e->tid,
		.weight = (int32_t)e->weight,
		.kind = s->labels.kinds[e->kind],
		.command = t->comm_id,
		.thread = t->name_id,
		.buildid = t->build_id_id,
		.unwind = sl->ustack_id ? s->labels.unwinds[sl->unwind] : 0,
		.state = s->labels.states[e->state],
		.cgroup = t->cgroup_str_id,
		.host = s->labels.host,
	};

	row.present = (sl->ustack_id ? ROW_USTACK_ID : 0) | (sl->kstack_id ? ROW_KSTACK_ID : 0) |
		      (e->flags & EVENT_F_RUNNABLE ? ROW_RUNNABLE : 0) |
		      (e->kind == EVENT_SWITCH && s->join_min_ns ? ROW_GAPS : 0);
	s->stats.rows[e->kind]++;
	if (recording__add(s->recording, &row) != 0)
		s->err = -ENOMEM;
}

/* A slice that waited since an earlier batch, or since its thread had another name, gets the ids of
 * now. */
static void add_pending(struct session *s, struct thread *t)
{
	refresh_thread(s, t, &t->pending->event);
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
		refresh_thread(s, t, &sl->event);
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

static void on_sample(struct session *s, const struct event *e)
{
	struct slice sl = { .event = *e };
	struct thread *t = threads__get(&s->threads, e->tid);
	struct process *p;

	if (!t || e->kind >= EVENT_KIND_CNT || e->state >= EVENT_STATE_CNT)
		return;
	labels__refresh(&s->labels, s->recording);
	refresh_thread(s, t, e);
	/* A dead thread's process may be gone from the table: its last build ID stands. */
	p = e->flags & EVENT_F_USER ? process_table__get(s->processes, e->tgid)
				    : process_table__find(s->processes, e->tgid);
	if (p)
		set_build_id(s, t, &p->build_id);
	if (p && (e->flags & EVENT_F_USER))
		unwind(s, p, e, &sl);
	if (e->kstack_sz)
		sl.kstack_id = stacks__kernel(s->stacks, event__kstack(e), event__kstack_cnt(e));
	add_slice(s, t, &sl);
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
	session__loss("process", r->cpu, "ring_full", r->lost.cnt, s);
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

static void count_loss(struct session *s, const char *probe, uint64_t cnt)
{
	for (size_t k = 0; k < EVENT_KIND_CNT; k++) {
		if (strcmp(event_kind__probe(k), probe) == 0) {
			s->stats.lost[k] += cnt;
			return;
		}
	}
}

void session__loss(const char *probe, uint32_t cpu, const char *reason, uint64_t cnt, void *arg)
{
	struct session *s = arg;
	uint64_t now_ns = monotonic__ns();
	struct row row = { .cpu = (int32_t)cpu, .amount = at_most_int64(cnt), .weight = 1 };

	labels__refresh(&s->labels, s->recording);
	count_loss(s, probe, cnt);
	row.timestamp = clock__unix_ns(&s->clock, now_ns);
	row.duration = (int64_t)(now_ns - s->losses_from_ns);
	row.kind = s->labels.lost;
	row.host = s->labels.host;
	row.lost_kind = recording__string(s->recording, probe, strlen(probe));
	row.reason = recording__string(s->recording, reason, strlen(reason));
	if (recording__add(s->recording, &row) != 0)
		s->err = -ENOMEM;
}

/* The slices that wait go on in the next batch, with their stacks; where that cannot be had they
 * wait no longer. */
static void carry_pending(struct session *s)
{
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next) {
		if (!t->pending || (carry__save(s->carry, s->recording, t->pending->ustack_id) &&
				    carry__save(s->carry, s->recording, t->pending->kstack_id)))
			continue;
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

	clock__update(&s->clock);
	s->losses_from_ns = now_ns;
	if (!may_close(s, now_ns))
		return 0;
	if (!s->err)
		s->err = stacks__err(s->stacks);
	if (s->err)
		return out_of_memory(s);
	if (s->join_min_ns && recording__due(s->recording, now_ns))
		carry_pending(s);
	err = recording__tick(s->recording, now_ns);
	if (generation != recording__generation(s->recording)) {
		carry__restore(s->carry, s->recording);
		threads__sweep(&s->threads);
	}
	return err;
}

void session__flush(struct session *s)
{
	labels__refresh(&s->labels, s->recording);
	for (struct thread *t = s->threads.by_tid; t; t = t->hh.next)
		end_pending(s, t);
	stacks__finish(s->stacks);
}

const struct session_stats *session__stats(const struct session *s)
{
	return &s->stats;
}
