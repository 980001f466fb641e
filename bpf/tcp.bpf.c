// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tcp: connections that are opened, accepted, retransmit, or are reset. Most of this happens in
 * interrupts, where the interrupted process is not involved. The events belong to the owner of the
 * socket: the process that has connected or accepted it, or has read from it since. `fexit`:
 * functions report the return of a call. `syscalls`: if the kernel does not allow hooks on them,
 * all system calls are observed.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/interrupt.bpf.h"
#include "bpf/socket.bpf.h"
#include "bpf/taskstate.bpf.h"

/* include/net/tcp_states.h */
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE    7
#define TCP_LISTEN   10

/* System calls of 32-bit programs, and the operations of socketcall(). */

/* RFC 791, 8200: offset of the sender's address; the receiver's follows it */
#define IPV4_SOURCE 12
#define IPV4_SZ	    4
#define IPV6_SOURCE 8
#define IPV6_SZ	    16
#define ETH_P_IPV6  0x86dd /* include/uapi/linux/if_ether.h */

#define O_NONBLOCK 04000 /* include/uapi/asm-generic/fcntl.h */

#define CONNS_MAX 65536

/* A socket that belongs to a recorded process. */
struct conn {
	struct owner owner;
	/* the event of its beginning has been sent, and that of its end has not */
	__u64 connecting;
};

/* The key is the address of the socket's struct sock, until it is closed. If the map is full, the
 * least recently used entry is dropped. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64);
	__type(value, struct conn);
	__uint(max_entries, CONNS_MAX);
} tcp__conns SEC(".maps");

/* The time at which a thread called accept(). */
TASK_STATE(tcp, accept, __u64, 4096) /* 300 KB */

static __always_inline struct conn *conn__of(const struct sock *sk)
{
	__u64 key = (__u64)sk;

	return bpf_map_lookup_elem(&tcp__conns, &key);
}

static __always_inline void conn__set(const struct sock *sk, const struct task_struct *task,
				      __u64 connecting, __u64 flags)
{
	struct conn conn = { .connecting = connecting };
	__u64 key = (__u64)sk;

	owner__set(&conn.owner, task);
	bpf_map_update_elem(&tcp__conns, &key, &conn, flags);
}

static __always_inline void conn__delete(const struct sock *sk)
{
	__u64 key = (__u64)sk;

	bpf_map_delete_elem(&tcp__conns, &key);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static __always_inline struct emission row_at(__u64 now_ns, __u32 kind,
					      const struct event_socket *ends)
{
	return (struct emission){ .time_ns = now_ns,
				  .kind = kind,
				  .cpu = bpf_get_smp_processor_id(),
				  .runnable_ns = ~0ULL,
				  .detail = EVENT_DETAIL_SOCKET,
				  .detail_data = ends,
				  .detail_sz = sizeof(*ends) };
}

static __always_inline bool is_filtered(void)
{
	return cfg.who || cfg.uid_cnt || cfg.cgroup_cnt;
}

/* Emits the row for the owner of the socket, or for no process if there is none. */
static __always_inline void emit_owned(void *ctx, const struct sock *sk, struct emission *row,
				       __u64 how)
{
	const struct conn *conn = conn__of(sk);
	struct owner owner = {};

	if (conn)
		owner = conn->owner;
	else if (is_filtered())
		return;
	row->owner = &owner;
	if (in_interrupt())
		row->flags |= EVENT_F_INTERRUPT;
	emit(ctx, (void *)bpf_get_current_task_btf(), row, how & CAPTURE_KERNEL);
}

/* ---- connect ------------------------------------------------------------------------------------
 */

/*
 * A thread connects or listens. A separate program: while it runs, interrupts end other
 * connections, and the kernel does not let a program interrupt itself.
 */
SEC("?tp_btf/inet_sock_set_state")
int BPF_PROG(tcp__any__begins, const struct sock *sk, int before, int state)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct event_socket ends;
	struct emission row;
	int sent = 0;

	if ((state != TCP_SYN_SENT && state != TCP_LISTEN) || !is_tcp(sk) || !recorded(task))
		return 0;
	socket__describe(sk, &ends);
	row = row_at(bpf_ktime_get_ns(), EVENT_TCP_CONNECT, &ends);
	row.join = (__u64)sk;
	row.flags = EVENT_F_OPEN | EVENT_F_PENDING;
	if (state == TCP_SYN_SENT && capturing(row.time_ns))
		sent = emit(ctx, task, &row, cfg.how[EVENT_TCP_CONNECT]);
	conn__set(sk, task, sent, BPF_ANY);
	return 0;
}

/* Captures no stacks: the stacks and the owner are those of the beginning. The local port is known
 * only now. A socket that has failed has lost its addresses. */
static __always_inline void end_connect(void *ctx, const struct sock *sk, __u64 reason)
{
	struct event_socket ends;
	struct emission row;

	socket__describe(sk, &ends);
	row = row_at(bpf_ktime_get_ns(), EVENT_TCP_CONNECT, &ends);
	row.join = (__u64)sk;
	row.flags = EVENT_F_CLOSE;
	row.reason = reason;
	row.unpaced = true;
	if (!ends.peer_port)
		row.detail_sz = 0;
	if (capturing(row.time_ns))
		emit(ctx, (void *)bpf_get_current_task_btf(), &row, 0);
}

/* The connection fails without an error: by itself within its own call (no free port), which
 * returns the reason, or because it is closed. */
static __always_inline bool is_in_connect(const struct conn *conn)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	return task->pid == (int)conn->owner.tid && current_nr(task) == __NR_connect &&
	       !in_interrupt();
}

SEC("?tp_btf/inet_sock_set_state")
int BPF_PROG(tcp__any__ends, const struct sock *sk, int before, int state)
{
	struct conn *conn;
	int error;

	if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return 0;
	conn = conn__of(sk);
	if (!conn)
		return 0;
	error = BPF_CORE_READ(sk, sk_err);
	if (conn->connecting && state == TCP_CLOSE && !error && is_in_connect(conn))
		return 0;
	if (conn->connecting)
		end_connect(ctx, sk, state != TCP_CLOSE ? 0 : error ? error : EVENT_REASON_CLOSED);
	conn->connecting = 0;
	if (state == TCP_CLOSE)
		conn__delete(sk);
	return 0;
}

/*
 * The end has already been reported, except in the case above or if an interrupt was not seen. The
 * kernel skips programs that would interrupt themselves, and some kernels do not run programs for
 * certain tasks.
 */
static __always_inline void connect_returned(void *ctx, const struct sock *sk, long ret)
{
	struct conn *conn = conn__of(sk);
	int state;

	if (!conn || !conn->connecting)
		return;
	state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return;
	end_connect(ctx, sk,
		    ret < 0		 ? reason_of(ret)
		    : state == TCP_CLOSE ? EVENT_REASON_CLOSED
					 : 0);
	conn->connecting = 0;
	if (state == TCP_CLOSE)
		conn__delete(sk);
}

SEC("?fexit/inet_stream_connect")
int BPF_PROG(tcp__fexit__connect, struct socket *sock, void *addr, int len, int flags, int ret)
{
	connect_returned(ctx, sock->sk, ret);
	return 0;
}

/* ---- accept -------------------------------------------------------------------------------------
 */

static __always_inline int accept_begins(void)
{
	__u64 *since_ns = accept__create((void *)bpf_get_current_task_btf());

	if (since_ns)
		*since_ns = bpf_ktime_get_ns();
	return 0;
}

/* Returns since when the thread has been in accept(). A call that began before the programs were
 * attached counts from the beginning. */
static __always_inline __u64 accept_began(struct task_struct *task)
{
	__u64 *since_ns = accept__find(task);

	return since_ns && *since_ns > begin_ns ? *since_ns : begin_ns;
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(tcp__any__free, struct task_struct *task)
{
	accept__forget(task);
	return 0;
}

static __always_inline bool accept_timed_out(const struct sock *sk)
{
	__u32 flags = BPF_CORE_READ(sk, sk_socket, file, f_flags);

	return timed_out(BPF_CORE_READ(sk, sk_rcvtimeo), flags & O_NONBLOCK ? MSG_DONTWAIT : 0);
}

/* `sk`: the new socket, or the listening socket if there is none. */
static __always_inline void accept_ends(void *ctx, const struct sock *sk, long ret)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct event_socket ends;
	struct emission row;

	if (!sk || !is_inet(sk) || !is_tcp(sk) || !recorded(task))
		return;
	if (ret >= 0)
		conn__set(sk, task, 0, BPF_ANY);
	if (ret == -EAGAIN && !accept_timed_out(sk))
		return;
	socket__describe(sk, &ends);
	row = row_at(bpf_ktime_get_ns(), EVENT_TCP_ACCEPT, &ends);
	row.duration_ns = row.time_ns - accept_began(task);
	row.reason = ret == -EAGAIN ? ETIMEDOUT : reason_of(ret);
	if (capturing(row.time_ns))
		emit(ctx, task, &row, cfg.how[EVENT_TCP_ACCEPT]);
}

SEC("?fentry/inet_accept")
int BPF_PROG(tcp__fexit__accept_begins)
{
	return accept_begins();
}

/*
 * From 6.10 on, the function has three arguments, before that four; the return value follows them.
 * In a separate function, because otherwise the compiler reads the context at a computed offset,
 * which the verifier does not allow.
 */
static __always_inline int accept_result(const __u64 *args)
{
	int ret;

	if (cfg.accept_args != 3)
		return args[4];
	ret = args[3];
	OPAQUE(ret);
	return ret;
}

SEC("?fexit/inet_accept")
int BPF_PROG(tcp__fexit__accept, struct socket *sock, struct socket *new)
{
	int ret = accept_result(ctx);

	accept_ends(ctx, ret < 0 ? sock->sk : new->sk, ret);
	return 0;
}

static __always_inline bool is_accept(const struct task_struct *task, const struct pt_regs *regs,
				      __u64 nr)
{
	if (!task__in_compat_call(task))
		return nr == __NR_accept || nr == __NR_accept4;
	return compat__is_accept(regs, nr);
}

/* Returns the socket on which accept() was called. */
static __always_inline __u32 accept_fd(const struct task_struct *task, const struct pt_regs *regs)
{
	if (!task__in_compat_call(task))
		return REGS_ARG_0(regs);
	return compat__accept_fd(regs);
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(tcp__syscalls__sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	return is_accept(task, regs, nr) ? accept_begins() : 0;
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(tcp__syscalls__sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (is_accept(task, regs, REGS_NR(regs)))
		accept_ends(ctx, socket__of_fd(task, ret < 0 ? accept_fd(task, regs) : ret), ret);
	else if (REGS_NR(regs) == __NR_connect)
		connect_returned(ctx, socket__of_fd(task, REGS_ARG_0(regs)), ret);
	return 0;
}

/* ---- owners -------------------------------------------------------------------------------------
 */

/* Sockets are passed on, to a child that serves the connection or in a message. The process that
 * reads becomes the owner. */
SEC("?tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp__any__reads, struct sock *sk)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct conn *conn = conn__of(sk);

	if ((conn && conn->owner.tgid == (__u32)task->tgid) || in_interrupt())
		return 0;
	if (!recorded(task))
		conn__delete(sk);
	else if (conn)
		owner__set(&conn->owner, task);
	else
		conn__set(sk, task, 0, BPF_NOEXIST);
	return 0;
}

/* Sockets that exist when the recording begins. */
SEC("?iter/task_file")
int tcp__any__scan(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *sock;
	struct sock *sk;

	if (!task || !file)
		return 0;
	sock = bpf_sock_from_file(file);
	sk = sock ? sock->sk : NULL;
	if (sk && is_inet(sk) && is_tcp(sk) && recorded(task))
		conn__set(sk, task, 0, BPF_NOEXIST);
	return 0;
}

/* ---- retransmit, reset --------------------------------------------------------------------------
 */

/* A packet that the device or its queue did not take is not an errno (net_xmit_errno()). */
static __always_inline __u64 transmit_error(const volatile __u64 *args)
{
	int err = cfg.retransmit_has_error ? args[2] : 0;

	return err > 0 ? ENOBUFS : reason_of(err);
}

SEC("?tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp__any__retransmit, const struct sock *sk, const struct sk_buff *skb)
{
	struct event_socket ends;
	struct emission row;

	socket__describe(sk, &ends);
	row = row_at(bpf_ktime_get_ns(), EVENT_TCP_RETRANSMIT, &ends);
	row.reason = transmit_error((const volatile __u64 *)ctx);
	row.amount = row.reason ? 0 : skb->len;
	if (capturing(row.time_ns))
		emit_owned(ctx, sk, &row, cfg.how[EVENT_TCP_RETRANSMIT]);
	return 0;
}

SEC("?tp_btf/tcp_receive_reset")
int BPF_PROG(tcp__any__receive_reset, const struct sock *sk)
{
	struct event_socket ends;
	struct emission row;

	socket__describe(sk, &ends);
	row = row_at(bpf_ktime_get_ns(), EVENT_TCP_RESET, &ends);
	row.reason = EVENT_REASON_RECEIVED;
	if (capturing(row.time_ns))
		emit_owned(ctx, sk, &row, cfg.how[EVENT_TCP_RESET]);
	return 0;
}

struct reset_args {
	const struct sock *sk;
	const struct sk_buff *skb;
};

struct ports {
	__be16 source, dest;
};

/* Describes the packet that is answered with a reset, with the two ends exchanged. */
static __always_inline void packet__describe(const struct sk_buff *skb, struct event_socket *out)
{
	const unsigned char *ip = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, network_header);
	const unsigned char *tcp = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, transport_header);
	bool v6 = BPF_CORE_READ(skb, protocol) == bpf_htons(ETH_P_IPV6);
	struct ports ports = {};

	__builtin_memset(out, 0, sizeof(*out));
	out->family = v6 ? AF_INET6 : AF_INET;
	bpf_probe_read_kernel(&ports, sizeof(ports), tcp);
	out->local_port = bpf_ntohs(ports.dest);
	out->peer_port = bpf_ntohs(ports.source);
	if (v6) {
		bpf_probe_read_kernel(out->peer, IPV6_SZ, ip + IPV6_SOURCE);
		bpf_probe_read_kernel(out->local, IPV6_SZ, ip + IPV6_SOURCE + IPV6_SZ);
	} else {
		bpf_probe_read_kernel(out->peer, IPV4_SZ, ip + IPV4_SOURCE);
		bpf_probe_read_kernel(out->local, IPV4_SZ, ip + IPV4_SOURCE + IPV4_SZ);
	}
}

/*
 * A reset in answer to a packet, or without one: from a process that closes, or from a timer. If
 * the packet has no socket, there is no socket (from 6.10 on).
 */
SEC("?tp_btf/tcp_send_reset")
int BPF_PROG(tcp__any__send_reset)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct reset_args args;
	struct event_socket ends;
	struct emission row;

	/* Read as numbers: some verifiers assume that pointers to sockets are never NULL. */
	bpf_probe_read_kernel(&args, sizeof(args), ctx);
	if (args.skb)
		packet__describe(args.skb, &ends);
	else
		socket__describe(args.sk, &ends);
	row = row_at(bpf_ktime_get_ns(), EVENT_TCP_RESET, &ends);
	row.reason = EVENT_REASON_SENT;
	if (!capturing(row.time_ns))
		return 0;
	if (args.skb || in_interrupt())
		emit_owned(ctx, args.sk, &row, cfg.how[EVENT_TCP_RESET]);
	else if (recorded(task))
		emit(ctx, task, &row, cfg.how[EVENT_TCP_RESET]);
	return 0;
}
