// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/rows.h"

#include <errno.h>
#include <string.h>

#include "collector/cgroup.h"
#include "collector/containernames.h"
#include "collector/detail.h"
#include "collector/probeargs.h"
#include "collector/processrows.h"
#include "collector/spannames.h"
#include "event/kind.h"

int rows__init(struct rows *r, struct recording *recording, const struct process_table *processes)
{
	*r = (struct rows){ .recording = recording };
	clock__init(&r->clock);
	r->cgroups = cgroups__new();
	r->processes = process_rows__new(recording, processes, &r->clock);
	r->span_names = span_names__new();
	r->containers = container_names__new("");
	return r->cgroups && r->processes && r->span_names && r->containers ? 0 : -ENOMEM;
}

void rows__free(struct rows *r)
{
	cgroups__free(r->cgroups);
	process_rows__free(r->processes);
	span_names__free(r->span_names);
	container_names__free(r->containers);
	r->span_names = NULL;
	r->containers = NULL;
	r->cgroups = NULL;
	r->processes = NULL;
}

/* ---- a thread's strings -------------------------------------------------------------------------
 */

static uint32_t rows_comm_id(struct rows *r, const char comm[EVENT_COMM_SZ])
{
	return recording__string(r->recording, comm, strnlen(comm, EVENT_COMM_SZ));
}

static uint32_t rows_cgroup_id(struct rows *r, uint64_t id)
{
	const char *path = id ? cgroups__path(r->cgroups, id) : NULL;

	return path ? recording__string(r->recording, path, strlen(path)) : 0;
}

static uint32_t rows_container_id(struct rows *r, uint64_t cgroup)
{
	const char *path = cgroup ? cgroups__path(r->cgroups, cgroup) : NULL;
	const char *name = path ? container_names__find(r->containers, path) : NULL;

	return name ? recording__string(r->recording, name, strlen(name)) : 0;
}

static void rows_see_process(struct rows *r, const struct thread *t, const struct event *e)
{
	process_rows__see(r->processes,
			  &(struct process_row){
				  .timestamp = clock__unix_ns(&r->clock, e->time_ns),
				  .tgid = (int32_t)e->tgid,
				  .cgroup = t->cgroup_str_id,
				  .container_name = rows_container_id(r, t->cgroup_id),
				  .host = r->labels.host,
			  });
}

void rows__name(struct rows *r, struct thread *t, const struct event *e)
{
	bool all;

	labels__refresh(&r->labels, r->recording);
	all = t->generation != r->labels.generation;

	if (all || memcmp(t->comm, e->comm, sizeof(t->comm)) != 0) {
		memcpy(t->comm, e->comm, sizeof(t->comm));
		t->comm_id = rows_comm_id(r, t->comm);
	}
	if (all || memcmp(t->name, e->thread, sizeof(t->name)) != 0) {
		memcpy(t->name, e->thread, sizeof(t->name));
		t->name_id = rows_comm_id(r, t->name);
	}
	if (all || t->cgroup_id != e->cgroup_id) {
		t->cgroup_id = e->cgroup_id;
		t->cgroup_str_id = rows_cgroup_id(r, t->cgroup_id);
	}
	if (all)
		t->build_id_id = recording__bytes(r->recording, t->build_id.bytes, t->build_id.sz);
	if (all)
		rows_see_process(r, t, e);
	t->generation = r->labels.generation;
	t->tgid = e->tgid;
}

void rows__set_build_id(struct rows *r, struct thread *t, const struct build_id *id)
{
	if (memcmp(&t->build_id, id, sizeof(*id)) == 0)
		return;
	t->build_id = *id;
	t->build_id_id = recording__bytes(r->recording, id->bytes, id->sz);
}

void rows__fork(struct rows *r, struct thread *t, uint32_t tgid)
{
	process_rows__fork(r->processes, tgid);
	if (t)
		t->generation = 0;
}

void rows__exec(struct rows *r, struct thread *t, uint32_t tgid)
{
	process_rows__exec(r->processes, tgid);
	if (t)
		t->generation = 0;
}

void rows__sweep(struct rows *r)
{
	process_rows__sweep(r->processes);
}

void rows__forget(struct rows *r)
{
	process_rows__forget(r->processes);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static int64_t rows_clamp_int64(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static uint32_t rows_reason_id(struct rows *r, uint16_t reason)
{
	const char *name = event_reason__name(reason);

	return name ? recording__string(r->recording, name, strlen(name)) : 0;
}

void rows__name_span(struct rows *r, const struct resolved_event *sl)
{
	char text[SPAN_NAME_SZ];

	if (sl->event.kind == EVENT_TRACE_CLOSE && sl->event.detail == EVENT_DETAIL_ARGS &&
	    r->probes && probe_args__text(sl, r->probes, text))
		span_names__add(r->span_names, sl->event.span_id, text);
}

static uint32_t rows_span_name_id(struct rows *r, const struct event *e)
{
	const char *text = r->probes ? span_names__find(r->span_names, e->span_id) : NULL;

	return text ? recording__string(r->recording, text, strlen(text))
		    : recording__string(r->recording, e->span, strnlen(e->span, sizeof(e->span)));
}

int rows__add(struct rows *r, const struct resolved_event *sl, const struct thread *t)
{
	const struct event *e = &sl->event;
	struct row row = {
		.timestamp = clock__unix_ns(&r->clock, e->time_ns),
		.duration = rows_clamp_int64(e->duration_ns),
		.span_id = e->span_id,
		.parent_id = e->parent_id,
		.id = e->id,
		.amount = rows_clamp_int64(e->amount),
		.ustack_id = sl->ustack_id,
		.kstack_id = sl->kstack_id,
		.runnable = rows_clamp_int64(e->runnable_ns),
		.gaps = rows_clamp_int64(sl->gaps_ns),
		.cpu = e->cpu,
		.tgid = (int32_t)e->tgid,
		.pid = (int32_t)e->tid,
		.target = (int32_t)e->target,
		.weight = (int32_t)e->weight,
		.kind = r->labels.kinds[e->kind],
		.command = t->comm_id,
		.thread = t->name_id,
		.buildid = t->build_id_id,
		.trace_name = rows_span_name_id(r, e),
		.reason = rows_reason_id(r, e->reason),
		.unwind = sl->ustack_id ? r->labels.unwinds[sl->unwind] : 0,
		.state = r->labels.states[e->state],
		.cgroup = t->cgroup_str_id,
		.host = r->labels.host,
	};

	row.present = (sl->ustack_id ? ROW_USTACK_ID : 0) | (sl->kstack_id ? ROW_KSTACK_ID : 0) |
		      (e->flags & EVENT_F_RUNNABLE ? ROW_RUNNABLE : 0) |
		      (e->flags & EVENT_F_TARGET ? ROW_TARGET : 0) |
		      (e->kind == EVENT_SWITCH && (r->has_gaps || sl->gaps_ns) ? ROW_GAPS : 0);
	detail__fill(&row, sl, r->recording);
	if (e->detail == EVENT_DETAIL_ARGS && r->probes)
		probe_args__fill(&row, sl, r->probes, r->recording);
	return recording__add(r->recording, &row);
}

/* Adds a row that is not of an event: its time, a number, and two words. */
static int rows_add_note(struct rows *r, struct row *row, const char *source, const char *reason)
{
	row->weight = 1;
	row->host = r->labels.host;
	row->lost_kind = recording__string(r->recording, source, strlen(source));
	row->reason = recording__string(r->recording, reason, strlen(reason));
	return recording__add(r->recording, row);
}

int rows__add_loss(struct rows *r, const struct capture_loss *l, uint64_t from_ns, uint64_t to_ns)
{
	struct row row = {
		.timestamp = clock__unix_ns(&r->clock, to_ns),
		.duration = (int64_t)(to_ns - from_ns),
		.cpu = (int32_t)l->cpu,
		.amount = rows_clamp_int64(l->cnt),
	};

	labels__refresh(&r->labels, r->recording);
	row.kind = r->labels.lost;
	return rows_add_note(r, &row, l->probe, l->reason);
}

int rows__add_rate(struct rows *r, const struct rate_change *rate)
{
	struct row row = {
		.timestamp = clock__unix_ns(&r->clock, rate->to_ns),
		.duration = (int64_t)(rate->to_ns - rate->from_ns),
		.amount = rate->every,
	};

	labels__refresh(&r->labels, r->recording);
	row.kind = r->labels.rate;
	return rows_add_note(r, &row, rate->source, rate->reason);
}
