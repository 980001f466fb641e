/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64; see arch.h. */
#ifndef BPF_ARCH_X86_H
#define BPF_ARCH_X86_H

#define EVENT_REG_CNT 17 /* DWARF order: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
#define EVENT_REG_SP  7
#define EVENT_RED_ZONE \
	128 /* bytes below the stack pointer that leaf functions use (x86-64 psABI 3.2.2) */

/* The kernel counts its interrupts per CPU, not per task: see interrupt.bpf.c. */
#define ARCH_TASK_COUNTS_INTERRUPTS 0

/* A part of the kernel's frame on a signal stack (struct rt_sigframe): the interrupted stack, and
 * the registers of the interrupted code. */
struct capture_signal {
	__u64 stack, stack_flags, stack_sz;
	__u64 r8, r9, r10, r11, r12, r13, g, r15; /* g: r14 */
	__u64 di, si, fp, bx, dx, ax, cx, sp, pc;
};

#endif
