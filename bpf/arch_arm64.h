/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64; see arch.h. */
#ifndef BPF_ARCH_ARM64_H
#define BPF_ARCH_ARM64_H

#define EVENT_REG_CNT  33 /* DWARF order: x0..x30 sp pc */
#define EVENT_REG_SP   31
#define EVENT_RED_ZONE 0 /* AAPCS64 6.4.5.1: the memory below the stack pointer may not be used */

/* thread_info.preempt.count */
#define ARCH_TASK_COUNTS_INTERRUPTS 1

/* A part of the kernel's frame on a signal stack (struct rt_sigframe): the interrupted stack, and
 * the registers of the interrupted code. */
struct capture_signal {
	__u64 stack, stack_flags, stack_sz;
	__u64 mask[16], unused, fault_address;
	__u64 x[28], g, fp, lr, sp, pc; /* g: x28 */
};

#endif
