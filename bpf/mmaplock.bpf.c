// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the processes for which the kernel would wait while it attaches probes. */
#include "bpf/filter.bpf.h"

/* Writes the id of each process in which a thread holds the lock of the address space, for reading
 * or for writing (src/capture/uprobes.h). */
SEC("?iter/task")
int uprobes__locked(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct mm_struct *mm = task ? task->mm : NULL;
	__s32 tgid; /* on the stack: Linux 6.1 cannot write from the memory of a task */

	if (!mm || !bpf_core_field_exists(mm->mmap_lock.count) || !mm->mmap_lock.count.counter)
		return 0;
	tgid = task->tgid;
	if (task->pid == tgid || !task->group_leader->mm)
		bpf_seq_write(ctx->meta->seq, &tgid, sizeof(tgid));
	return 0;
}
