/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types that the BPF programs use, and of each only the fields that they read. Every
 * access is relocated against the running kernel's BTF when the programs are loaded (CO-RE), so
 * order, offsets and what is left out do not matter; names and types do. A name that ends in
 * ___SUFFIX is the same type as some other kernel version has it. No type of its own name may be
 * one that newer kernels have not: libbpf then looks for it in modules, which takes CAP_SYS_ADMIN.
 */
#ifndef VMLINUX_H
#define VMLINUX_H

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef __u32 u32;
typedef __u64 u64;

#ifdef __TARGET_ARCH_arm64
#include "vmlinux_arm64.h"
#else
#include "vmlinux_x86.h"
#endif

struct task_struct;

struct percpu_counter {
	long long count;
	int *counters; /* per CPU; only with CONFIG_SMP */
};

typedef struct {
	long long counter;
} atomic64_t;

struct rw_semaphore {
	atomic64_t count; /* not with CONFIG_PREEMPT_RT */
};

/* The page of a process through which functions with return probes return; CONFIG_UPROBES. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	unsigned long start_code, start_brk, start_stack, stack_vm, exec_vm;
	struct uprobes_state uprobes_state;
	struct percpu_counter rss_stat[4]; /* from 6.2 on */
	struct task_struct *owner;	   /* only with CONFIG_MEMCG */
	struct file *exe_file;
};

struct mm_struct___old {
	struct {
		atomic64_t count[4];
	} rss_stat; /* up to 6.1 */
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

struct cgroup_root;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	int counter;
} atomic_t;

struct file_system_type {
	const char *name;
};

struct super_block {
	struct file_system_type *s_type;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode, f_flags;
	struct inode *f_inode;
	void *private_data;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sigaction {
	void (*sa_handler)(int);
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
};

struct rq {
	int cpu;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu; /* 8 bits in 7.3; libbpf adjusts loads of unsigned fields only */
	int exit_state, exit_code;
	unsigned int in_execve : 1;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	unsigned long nvcsw, nivcsw;
	u64 start_time;
	const struct cred *cred;
	char comm[16];
	unsigned long sas_ss_sp, sas_ss_size;
	struct mm_struct *mm;
	struct files_struct *files;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct uprobe_task *utask; /* only with CONFIG_UPROBES */
	struct thread_struct thread;
	void *worker_private; /* a kernel thread's struct kthread, from 5.17 on */
	int *set_child_tid;   /* before */
};

struct task_struct___cpu {
	unsigned int cpu; /* up to 5.15 */
};

struct kthread {
	void *data; /* a kworker's struct worker */
};

struct worker {
	char desc[24]; /* longer from 6.10 on */
};

struct gendisk {
	char disk_name[32];
};

struct block_device {
	struct gendisk *bd_disk;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bvec_iter {
	unsigned int bi_size;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	struct blkcg_gq *bi_blkg; /* CONFIG_BLK_CGROUP */
};

struct request {
	unsigned int __data_len;
	struct bio *bio;
	void *end_io;
};

struct bpf_array {
	void *pptrs[0];
};

struct vm_area_struct {
	unsigned long vm_end;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	unsigned short skc_family;
	unsigned char skc_state;
	__be16 skc_dport;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; /* with CONFIG_IPV6 */
};

struct socket;

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1]; /* as each namespace numbers it, the first one's first */
};

struct sock {
	struct sock_common __sk_common;
	struct pid *sk_peer_pid;
	int sk_err;
	struct socket *sk_socket;
	long sk_rcvtimeo, sk_sndtimeo;
	unsigned short sk_type, sk_protocol;
};

struct inet_sock {
	__be16 inet_sport;
};

struct tcp_sock {
	u32 copied_seq;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct sk_buff {
	unsigned int len;
	__be16 protocol;
	__u16 transport_header, network_header;
	unsigned char *head;
};

struct msghdr {
	void *msg_name;
	unsigned int msg_flags;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct task_struct *task;
	struct file *file;
};

#pragma clang attribute pop

/* include/uapi/linux/bpf_perf_event.h: not relocated, the same everywhere */
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period, addr;
};

#endif
