/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads under the shadow stack, and the state of the tool for all of them. */
#ifndef TOOLS_SHADOW_THREAD_H
#define TOOLS_SHADOW_THREAD_H

#include "must.h"

#include "lib/live_rig.h"
#include "shadow_judge.h"
#include "shadow_proc.h"
#include "shadow_stack.h"

struct options {
	uint64_t every, max, show, stack_sz;
	struct proc_choice choice;
	bool truncated_ok, leaf, show_all;
};

/* A child may stop before its parent's stop announces it. */
enum thread_state { THREAD_UNKNOWN, THREAD_AWAITED, THREAD_RUNS };

struct thread {
	struct thread *next;
	pid_t tid;
	enum thread_state state;
	bool stopped;
	struct proc *proc;
	struct shadow *shadow;
	struct user_regs_struct regs; /* before the current instruction */
	enum code_kind kind;	      /* of that instruction */
	int signal;		      /* with which it was resumed */
	struct pending *pending, **pending_end;
};

struct stepper {
	struct options o;
	struct procs procs;
	struct jobs *jobs;
	struct unwinder *unwinder;
	struct event *event;
	struct trace *trace;
	struct expected *expected;
	struct thread *threads;
	struct tally tally;
	uint64_t steps, shown;
	bool begun; /* --from was reached */
	pid_t first;
	int first_status;
};

static inline struct thread *thread_find(const struct stepper *st, pid_t tid)
{
	struct thread *t = st->threads;

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

static inline struct thread *thread_add(struct stepper *st, pid_t tid)
{
	struct thread *t = calloc(1, sizeof(*t));

	must(t);
	t->tid = tid;
	t->pending_end = &t->pending;
	t->next = st->threads;
	st->threads = t;
	return t;
}

static inline uint32_t thread_read_tgid(pid_t tid)
{
	char path[64], line[256];
	unsigned tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Tgid: %u", &tgid) != 1)
		;
	if (f)
		fclose(f);
	return tgid;
}

static inline void thread_drop_pending(struct thread *t)
{
	while (t->pending) {
		struct pending *next = t->pending->next;

		free(t->pending);
		t->pending = next;
	}
	t->pending_end = &t->pending;
}

static inline void thread_remove(struct stepper *st, struct thread *t)
{
	struct thread **at = &st->threads;
	const struct thread *other = st->threads;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	for (other = st->threads; other && other->proc != t->proc; other = other->next)
		;
	if (!other && t->proc)
		procs__drop(&st->procs, t->proc);
	thread_drop_pending(t);
	if (t->shadow)
		shadow__free(t->shadow);
	free(t);
}

#endif
