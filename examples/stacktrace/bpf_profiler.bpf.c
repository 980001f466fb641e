// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's half of bpf_profiler.c: registers and stack of who runs, as they are. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf_profiler.h"

struct task_struct;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} samples SEC(".maps");

const volatile __u32 only; /* this process; 0: everybody */

SEC("perf_event")
int on_clock(void *ctx)
{
	__u64 ids = bpf_get_current_pid_tgid(), sp;
	struct bpf_sample *s;

	(void)ctx;
	if (only ? ids >> 32 != only : ids == 0)
		return 0;
	s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
	if (!s)
		return 0;
	s->pid = ids >> 32;
	s->tid = (__u32)ids;
	bpf_probe_read_kernel(s->regs, sizeof(s->regs),
			      (const void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	sp = s->regs[SAMPLE_SP];
	s->stack_address = sp & ~4095ull;
	s->stack_size = 0;
	for (int i = 0; i < SAMPLE_PAGES; i++) {
		if (bpf_probe_read_user(s->stack[i], 4096,
					(const void *)(s->stack_address + i * 4096ull)) != 0)
			break;
		s->stack_size += 4096;
	}
	bpf_ringbuf_submit(s, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
