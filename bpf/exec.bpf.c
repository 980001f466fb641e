// SPDX-License-Identifier: GPL-2.0-or-later
/* exec: programs that start, and processes that fork and exit. */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/taskstate.bpf.h"

#define SIGNAL_MASK	0x7f
#define SIGNAL_STATUS	128 /* as in a shell: 128 + the signal */
#define EXIT_CODE_SHIFT 8

#define SIGNAL_GROUP_EXIT 0x4 /* include/linux/sched/signal.h */

/* State of a process, kept for its first thread: it has its row. */
TASK_STATE(exec, ended, __u32, 4096) /* 300 KB */

static __always_inline struct emission row_at(__u64 now_ns, __u32 kind)
{
	return (struct emission){ .time_ns = now_ns,
				  .kind = kind,
				  .cpu = bpf_get_smp_processor_id(),
				  .runnable_ns = ~0ULL };
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(exec__exec, struct task_struct *task)
{
	struct emission row = row_at(bpf_ktime_get_ns(), EVENT_EXEC);

	if (!capturing(row.time_ns) || !recorded(task))
		return 0;
	return emit(ctx, task, &row, cfg.how[EVENT_EXEC]);
}

/* A new process, not a new thread. The stack is the parent's. */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(exec__fork, struct task_struct *parent, struct task_struct *child)
{
	struct emission row = row_at(bpf_ktime_get_ns(), EVENT_FORK);

	if (!capturing(row.time_ns) || child->pid != child->tgid || !recorded(parent))
		return 0;
	row.target = child->pid;
	row.flags = EVENT_F_TARGET;
	return emit(ctx, parent, &row, cfg.how[EVENT_FORK]);
}

/* The status that its parent gets (wait_task_zombie() in kernel/exit.c). */
static __always_inline __u64 exit_status(const struct task_struct *task)
{
	const struct signal_struct *signal = task->signal;
	int code = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code
						     : task->group_leader->exit_code;
	__u32 number = code & SIGNAL_MASK;

	return number ? SIGNAL_STATUS + number : (code >> EXIT_CODE_SHIFT) & 0xff;
}

/*
 * The last thread of a process exits: with its lifetime and its status. Threads that exit at the
 * same time may all see that no other is left. This is most likely up to 6.15, where the hook runs
 * after they have left their memory. The first of them makes the row.
 */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(exec__exit, struct task_struct *task)
{
	struct emission row = row_at(bpf_ktime_get_ns(), EVENT_EXIT);
	__u32 *has_row;

	if (!capturing(row.time_ns) || task->signal->live.counter || !recorded(task))
		return 0;
	has_row = ended__create(task->group_leader);
	if (has_row && __sync_lock_test_and_set(has_row, 1))
		return 0;
	row.duration_ns = row.time_ns - task->group_leader->start_time;
	row.amount = exit_status(task);
	return emit(ctx, task, &row, cfg.how[EVENT_EXIT]);
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(exec__free, struct task_struct *task)
{
	ended__forget(task);
	return 0;
}
