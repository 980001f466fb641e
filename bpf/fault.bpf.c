// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fault: a page fault of user code, with the faulting address. Keeps one of N faults on each CPU,
 * not in each process, so that short-lived processes, which have fewer than N faults each, count
 * together.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"

/* The number of faults of this CPU up to and including the next recorded one; 0: not started. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} faults_left SEC(".maps");

static __always_inline __u32 every(void)
{
	return cfg.param[EVENT_FAULT] ? cfg.param[EVENT_FAULT] : 1;
}

/* Returns true for one of N faults. Each CPU starts at a random one: if all started at N, too few
 * faults would be recorded. */
static __always_inline bool is_kept(void)
{
	__u64 *left = bpf_map_lookup_elem(&faults_left, &(__u32){ 0 });

	if (!left)
		return false;
	if (!*left)
		*left = 1 + bpf_get_prandom_u32() % every();
	if (--*left)
		return false;
	*left = every();
	return true;
}

static __always_inline int send_fault(void *ctx, struct task_struct *task, __u64 now_ns,
				      __u64 address)
{
	struct event_address detail = { .address = address };

	return emit(ctx, task,
		    &(struct emission){ .time_ns = now_ns,
					.kind = EVENT_FAULT,
					.cpu = bpf_get_smp_processor_id(),
					.weight = every(),
					.runnable_ns = ~0ULL,
					.detail = EVENT_DETAIL_ADDRESS,
					.detail_data = &detail,
					.detail_sz = sizeof(detail) },
		    cfg.how[EVENT_FAULT]);
}

SEC("?tp_btf/page_fault_user")
int BPF_PROG(fault__tp__user, unsigned long address)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 now_ns = bpf_ktime_get_ns();

	if (!capturing(now_ns) || !recorded(task) || !is_kept())
		return 0;
	return send_fault(ctx, task, now_ns, address);
}

/* The kernel runs this program for one of N faults. */
SEC("?perf_event")
int fault__perf__user(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 now_ns = bpf_ktime_get_ns();

	if (!capturing(now_ns) || !recorded(task))
		return 0;
	return send_fault(ctx, task, now_ns, ctx->addr);
}
