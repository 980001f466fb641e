// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel counts the depth of interrupts in a variable of each CPU. No symbol gives its address
 * (kernels without CONFIG_KALLSYMS_ALL have none for data). But its distance from another variable
 * of the CPU, the run queue, is in the kernel's types, and every task points to the run queue.
 */
#include "bpf/interrupt.bpf.h"

/* The address of the count; 0: not looked up yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} preempt_counts SEC(".maps");

static __always_inline __u64 find_preempt_count(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct rq *rq = task->se.cfs_rq->rq;
	__u64 addr = 0;

	if (rq->cpu != (int)bpf_get_smp_processor_id())
		return 0;
	/* Converts a pointer to a number, because the verifier allows arithmetic only on numbers.
	 */
	bpf_probe_read_kernel(&addr, sizeof(addr), &rq);
	return addr + cfg.preempt_count_off;
}

__hidden bool in_interrupt(void)
{
	__u64 *addr = bpf_map_lookup_elem(&preempt_counts, &(__u32){ 0 });
	__u32 count = 0;

	if (ARCH_TASK_COUNTS_INTERRUPTS)
		return task__interrupt_count(bpf_get_current_task_btf()) & cfg.interrupt_bits;
	if (!addr)
		return false;
	if (!*addr)
		*addr = find_preempt_count();
	bpf_probe_read_kernel(&count, sizeof(count), (const void *)*addr);
	return count & cfg.interrupt_bits;
}
