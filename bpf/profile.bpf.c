// SPDX-License-Identifier: GPL-2.0-or-later
/* profile: a sample of the running code, HZ times a second on each CPU. */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"

SEC("?perf_event")
int profile__sample(struct bpf_perf_event_data *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct task_struct *task;

	if (!capturing(now_ns))
		return 0;
	task = (void *)bpf_get_current_task_btf();
	if (!recorded(task))
		return 0;
	return emit(ctx, task,
		    &(struct emission){ .time_ns = now_ns,
					.duration_ns = 1000000000 / cfg.param[EVENT_PROFILE],
					.kind = EVENT_PROFILE,
					.cpu = bpf_get_smp_processor_id(),
					.runnable_ns = ~0ULL },
		    cfg.how[EVENT_PROFILE]);
}
