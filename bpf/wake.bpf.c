// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wake: a thread is woken; with the time and the stack of the waker. The row belongs to the waker,
 * even if only the woken thread is recorded: the user wants to know which thread the program waits
 * for.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/interrupt.bpf.h"

/* An interrupt belongs to no process; it may run on an idle CPU. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(wake__waking, struct task_struct *woken)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	const struct owner nobody = {};
	struct emission row = { .time_ns = bpf_ktime_get_ns(),
				.kind = EVENT_WAKE,
				.cpu = bpf_get_smp_processor_id(),
				.target = woken->pid,
				.flags = EVENT_F_TARGET,
				.runnable_ns = ~0ULL };
	bool own;

	if (!capturing(row.time_ns))
		return 0;
	own = task->pid && !in_interrupt();
	if (own && is_collector(task))
		return 0;
	if (!recorded(woken) && !(own && recorded(task)))
		return 0;
	if (own)
		return emit(ctx, task, &row, cfg.how[EVENT_WAKE]);
	row.owner = &nobody;
	row.flags |= EVENT_F_INTERRUPT;
	return emit(ctx, task, &row, cfg.how[EVENT_WAKE] & CAPTURE_KERNEL);
}
