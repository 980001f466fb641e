/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types that the BPF programs use, and of each only the fields that they read. Every
 * access is relocated against the running kernel's BTF when the programs are loaded (CO-RE), so
 * order, offsets and what is left out do not matter; names and types do. A name that ends in
 * ___SUFFIX is the same type as some other kernel version has it.
 */
#ifndef VMLINUX_H
#define VMLINUX_H

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef __u32 u32;
typedef __u64 u64;

/* x86-64. The kernel makes cs 16 bits wide in a union from 6.9 on; libbpf adjusts the load. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct thread_info {
	u32 cpu; /* from 5.16 on */
};

struct thread_struct {
	unsigned long fsbase;
};

struct mm_struct {
	unsigned long start_stack, stack_vm;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu; /* 8 bits in 7.3; libbpf adjusts loads of unsigned fields only */
	int exit_state, exit_code;
	unsigned int in_execve : 1;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	u64 start_time;
	const struct cred *cred;
	char comm[16];
	unsigned long sas_ss_sp, sas_ss_size;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct thread_struct thread;
};

struct task_struct___cpu {
	unsigned int cpu; /* up to 5.15 */
};

struct vm_area_struct {
	unsigned long vm_end;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_perf_event_data;

#pragma clang attribute pop

#endif
