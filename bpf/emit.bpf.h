/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one place that builds events: registers, stacks, names, and this CPU's ring. */
#ifndef EMIT_BPF_H
#define EMIT_BPF_H

#include "bpf/base.bpf.h"

/* The owner of an event, if it is not the task from which the event is captured. All zero if it is
 * not known. */
struct owner {
	__u64 cgroup_id;
	__u32 tgid, tid;
	char comm[EVENT_COMM_SZ], thread[EVENT_COMM_SZ];
};

static __always_inline void owner__set(struct owner *owner, const struct task_struct *task)
{
	const struct task_struct *leader = task->group_leader;

	owner->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	owner->tgid = task->tgid;
	owner->tid = task->pid;
	__builtin_memcpy(owner->thread, (const void *)task->comm, EVENT_COMM_SZ);
	__builtin_memcpy(owner->comm, (const void *)leader->comm, EVENT_COMM_SZ);
}

/* The fields that a program sets for its event. The others are filled alike for all kinds. */
struct emission {
	__u64 time_ns, duration_ns, amount;
	__u64 id;	   /* 0: that of the span */
	__u64 runnable_ns; /* UINT64_MAX: unknown */
	__u64 kind, state;
	__u64 cpu;
	union {
		__u64 join;    /* with `flags` EVENT_F_OPEN, EVENT_F_CLOSE */
		__u64 gaps_ns; /* switch */
	};
	__u64 cgroup_id;	 /* 0: that of the task */
	__u64 reason;		 /* errno, enum event_reason, 0 */
	const void *detail_data; /* detail_sz bytes, a multiple of 8; in kernel memory or on the
				    stack */
	__u64 detail_sz;
	const struct owner *owner;    /* NULL: the task */
	const struct open_span *span; /* NULL: the innermost span of the task */
	/* not counted by --max-rate. Not a bool: clang 21 then zeroes the next member byte by byte,
	 * and the verifier forgets that it is 0. */
	__u64 unpaced;
	/* Last: clang zeroes what follows a member of 4 bytes by halves of 8 bytes, and then the
	 * verifier does not see that a pointer is null. */
	__u32 target; /* with EVENT_F_TARGET */
	__u32 flags;  /* those of enum event_flags that the program sets itself */
	__u32 detail; /* enum event_detail */
	__u32 weight; /* 0 means 1 */
};

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Kernel threads have no user registers; workers of io_uring and vhost have a stack pointer of 0.
 */
static __always_inline bool has_user_side(struct task_struct *task)
{
	return task->mm && !(task->flags & PF_KTHREAD) &&
	       regs__sp((const void *)bpf_task_pt_regs(task));
}

/*
 * Captures `task` according to `how` (enum capture_how, a constant for the verifier). Returns NULL
 * if the event is lost (already counted) or left out (see `thinning`), else a slot for
 * event__send() or event__drop(). `how` is 64 bits wide, as are the counters of long loops. Before
 * 354e8f1970f8 ("bpf: Support <8-byte scalar spill and refill", 5.16) the verifier forgets smaller
 * values that the compiler puts on the stack for a while.
 */
struct capture_slot *event__capture(void *ctx, struct task_struct *task,
				    const struct emission *what, __u64 how) __hidden;

/* Returns 1 if an event was sent, 0 if it is lost (already counted). */
int event__send(struct capture_slot *slot, __u64 time_ns) __hidden;

/* Discards the event without counting it. Returns 0. */
int event__drop(struct capture_slot *slot) __hidden;

/* Captures and sends. */
static __always_inline int emit(void *ctx, struct task_struct *task, const struct emission *what,
				__u64 how)
{
	struct capture_slot *slot = event__capture(ctx, task, what, how);

	return slot ? event__send(slot, what->time_ns) : 0;
}

#endif
