// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/span.bpf.h"
#include "bpf/taskstate.bpf.h"

#define DEPTH_MAX 32 /* spans that a thread is in at a time; a power of two */

struct thread_spans {
	__u32 depth;
	__u32 deeper; /* entered beyond DEPTH_MAX */
	struct open_span open[DEPTH_MAX];
};

TASK_STATE(usdt, thread, struct thread_spans, 1024) /* 2 MB */

__hidden const struct open_span *span__innermost(struct task_struct *task)
{
	struct thread_spans *th = thread__find(task);

	return th && th->depth ? &th->open[(th->depth - 1) % DEPTH_MAX] : NULL;
}

/*
 * An interrupt in between sees either the outer or the new span. The span starts when all programs
 * see it, so events between its enter and its exit are in it.
 */
static __always_inline void push(struct thread_spans *th, struct open_span *s)
{
	__u32 depth = th->depth;

	if (depth >= DEPTH_MAX) {
		th->deeper++;
		lose(EVENT_TRACE_EXIT, EVENT_LOST_STATE_FULL);
		s->enter_ns = bpf_ktime_get_ns();
		return;
	}
	th->open[depth % DEPTH_MAX] = *s;
	barrier();
	th->depth = depth + 1;
	barrier();
	s->enter_ns = bpf_ktime_get_ns();
	th->open[depth % DEPTH_MAX].enter_ns = s->enter_ns;
}

/* Returns the depth of the span, from 1 on; 0: the thread is not in it. */
static __always_inline __u32 find(const struct thread_spans *th, __u64 span_id)
{
	for (__u32 i = 0; i < DEPTH_MAX; i++) {
		__u32 depth = th->depth - i;

		if (depth - 1 >= DEPTH_MAX)
			break;
		/* otherwise clang 19 drops the mask below, which the verifier needs */
		OPAQUE(depth);
		if (th->open[(depth - 1) % DEPTH_MAX].span_id == span_id)
			return depth;
	}
	return 0;
}

/* Leaves the span, and the spans inside it that have not been left. */
static __always_inline void pop_to(struct thread_spans *th, __u32 depth)
{
	th->deeper = 0;
	th->depth = depth - 1;
}

__hidden void span__enter(struct task_struct *task, struct open_span *s)
{
	struct thread_spans *th = thread__create(task);

	if (th) {
		push(th, s);
		return;
	}
	lose(EVENT_TRACE_EXIT, EVENT_LOST_NO_MEMORY);
	s->enter_ns = bpf_ktime_get_ns();
}

__hidden bool span__leave(struct task_struct *task, __u64 span_id, struct open_span *s)
{
	struct thread_spans *th = thread__find(task);
	__u32 depth;

	if (!th)
		return false;
	depth = find(th, span_id);
	if (depth) {
		*s = th->open[(depth - 1) % DEPTH_MAX];
		pop_to(th, depth);
	} else if (th->deeper) {
		th->deeper--;
	} else {
		lose(EVENT_TRACE_EXIT, EVENT_LOST_UNMATCHED);
	}
	return depth;
}

__hidden void span__close(struct task_struct *task, __u64 span_id)
{
	struct thread_spans *th = thread__find(task);
	__u32 depth = th ? find(th, span_id) : 0;

	if (depth)
		pop_to(th, depth);
}

__hidden void span__leave_all(struct task_struct *task)
{
	struct thread_spans *th = thread__find(task);

	if (th)
		th->depth = th->deeper = 0;
}

__hidden void span__forget(const struct task_struct *task)
{
	thread__forget(task);
}
