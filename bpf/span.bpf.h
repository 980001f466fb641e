/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spans that threads are in. A thread enters and leaves them in a nested way. */
#ifndef SPAN_BPF_H
#define SPAN_BPF_H

#include "bpf/base.bpf.h"

/* The data of a span at its enter. */
struct open_span {
	__u64 span_id, parent_id, id, amount;
	__u64 enter_ns;
	char name[EVENT_SPAN_SZ];
};

/* Returns the innermost span of a thread, or NULL. Only with cfg.spans. */
const struct open_span *span__innermost(struct task_struct *task) __hidden;

/* Sets s->enter_ns to the time from which on events are in the span. */
void span__enter(struct task_struct *task, struct open_span *s) __hidden;

/*
 * Copies the span and leaves it. If the thread has left an outer span without leaving the inner
 * ones, it is out of the inner ones too. Returns false if the thread is not in the span: it was
 * entered before the recording, or the program does not nest its spans. This is counted and changes
 * nothing.
 */
bool span__leave(struct task_struct *task, __u64 span_id, struct open_span *s) __hidden;

/* Leaves the span and the spans inside it, if the thread is in it. */
void span__close(struct task_struct *task, __u64 span_id) __hidden;

void span__leave_all(struct task_struct *task) __hidden;
void span__forget(const struct task_struct *task) __hidden; /* for tp_btf/sched_process_free */

#endif
