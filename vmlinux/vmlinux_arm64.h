/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's types on AArch64, where they differ; see vmlinux.h. */

struct pt_regs {
	u64 regs[31], sp, pc, pstate;
	u64 orig_x0;
	int syscallno;
};

struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};

typedef struct user_pt_regs bpf_user_pt_regs_t;

struct thread_info {
	unsigned long flags;
	struct {
		u32 count;
	} preempt;
	u32 cpu; /* from 5.16 on */
};

struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
