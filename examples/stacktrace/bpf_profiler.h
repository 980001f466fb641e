/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BPF_PROFILER_H
#define BPF_PROFILER_H

#define SAMPLE_PAGES	8
#define SAMPLE_REGS	21 /* struct pt_regs of x86-64 */
#define SAMPLE_SP	19
#define SAMPLE_RED_ZONE 128 /* bytes below the stack pointer that are the leaf's */

struct bpf_sample {
	__u32 pid, tid;
	__u64 stack_address, stack_size; /* of whole pages, from the red zone's on */
	__u64 regs[SAMPLE_REGS];
	__u8 stack[SAMPLE_PAGES][4096];
};

#endif
