/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How events describe sockets, and how kernel errors become reasons. */
#ifndef SOCKET_BPF_H
#define SOCKET_BPF_H

#include "bpf/base.bpf.h"
#include <bpf/bpf_endian.h>
#include <asm/errno.h>

/* include/linux/socket.h, stat.h, uapi/linux/in.h, net.h; these are macros */
#define AF_INET		2
#define AF_INET6	10
#define SOCK_STREAM	1
#define SOCK_DGRAM	2
#define IPPROTO_TCP	6
#define IPPROTO_UDP	17
#define IPPROTO_UDPLITE 136
#define IPPROTO_MPTCP	262
#define MSG_DONTWAIT	0x40
#define S_IFMT		0170000
#define S_IFSOCK	0140000

#define ERESTARTSYS 512 /* include/linux/errno.h: from here on a signal arrived */

#define MAX_SCHEDULE_TIMEOUT (~0UL >> 1) /* include/linux/sched.h: LONG_MAX */

static __always_inline bool is_tcp(const struct sock *sk)
{
	__u16 protocol = BPF_CORE_READ(sk, sk_protocol);

	return BPF_CORE_READ(sk, sk_type) == SOCK_STREAM &&
	       (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP);
}

static __always_inline bool is_udp(const struct sock *sk)
{
	__u16 protocol = BPF_CORE_READ(sk, sk_protocol);

	return BPF_CORE_READ(sk, sk_type) == SOCK_DGRAM &&
	       (protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE);
}

static __always_inline bool is_inet(const struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	return family == AF_INET || family == AF_INET6;
}

/* `sk` may be any pointer. The local port does not come from skc_num, which is 0 once a socket is
 * closed. */
static __always_inline void socket__describe(const struct sock *sk, struct event_socket *out)
{
	const struct sock_common *c = &sk->__sk_common;

	__builtin_memset(out, 0, sizeof(*out));
	out->family = BPF_CORE_READ(c, skc_family);
	out->local_port = bpf_ntohs(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
	out->peer_port = bpf_ntohs(BPF_CORE_READ(c, skc_dport));
	if (out->family == AF_INET) {
		bpf_core_read(out->local, sizeof(c->skc_rcv_saddr), &c->skc_rcv_saddr);
		bpf_core_read(out->peer, sizeof(c->skc_daddr), &c->skc_daddr);
	} else if (bpf_core_field_exists(c->skc_v6_daddr)) {
		bpf_core_read(out->local, sizeof(out->local), &c->skc_v6_rcv_saddr);
		bpf_core_read(out->peer, sizeof(out->peer), &c->skc_v6_daddr);
	}
}

/* Converts the kernel's result to enum event_reason or an error number; 0 for success. */
static __always_inline __u64 reason_of(long ret)
{
	if (ret >= 0)
		return 0;
	return ret <= -ERESTARTSYS ? EINTR : -ret;
}

/*
 * Returns whether a call that returned EAGAIN had waited for the time-out of the socket. Otherwise
 * it did not wait and nothing happened: the caller will try again.
 */
static __always_inline bool timed_out(long timeout, __u32 flags)
{
	return timeout != MAX_SCHEDULE_TIMEOUT && !(flags & MSG_DONTWAIT);
}

/* Returns the number of the thread's current system call, or another value for kernel threads. */
static __always_inline __u64 current_nr(struct task_struct *task)
{
	return REGS_NR((const struct pt_regs *)bpf_task_pt_regs(task));
}

/* Returns the socket behind a file descriptor of the task, or NULL if it is not a socket. The
 * pointer is a scalar to the verifier: read through it with bpf_core_read(). */
static __always_inline struct sock *socket__of_fd(struct task_struct *task, __u64 fd)
{
	struct file **files = BPF_CORE_READ(task, files, fdt, fd), *file = NULL;
	struct socket *sock;

	if (fd >= BPF_CORE_READ(task, files, fdt, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file ||
	    (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	sock = BPF_CORE_READ(file, private_data);
	return BPF_CORE_READ(sock, sk);
}

#endif
