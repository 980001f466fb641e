/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's types on x86-64, where they differ; see vmlinux.h. */

/* The kernel makes cs 16 bits wide in a union from 6.9 on; libbpf adjusts the load. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

struct thread_info {
	u32 cpu; /* from 5.16 on */
	u32 status;
};

struct thread_struct {
	unsigned long fsbase;
};
