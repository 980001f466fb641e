// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's half of bpf_profiler.c: registers and stack of the running thread, as they are. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf_profiler.h"

struct task_struct;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} samples SEC(".maps");

const volatile __u32 only; /* this process; 0: everybody */

/*
 * The address of the first byte to copy. The 128 bytes below the stack pointer belong to the leaf,
 * and rules of call-frame information may read them. Their page can be missing when the stack
 * pointer is at the beginning of the next one.
 */
static __u64 first_page(__u64 sp)
{
	__u64 red_zone = sp - SAMPLE_RED_ZONE;
	char probe;

	if (bpf_probe_read_user(&probe, 1, (const void *)red_zone) != 0)
		return sp & ~4095ull;
	return red_zone & ~4095ull;
}

SEC("perf_event")
int on_clock(void *ctx)
{
	__u64 ids = bpf_get_current_pid_tgid();
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
	s->stack_address = first_page(s->regs[SAMPLE_SP]);
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
