// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * net: bytes that TCP, UDP and Unix sockets send and receive. Tracepoints give the result of a call
 * (6.3). Hooks of functions give its begin and its addresses: `tp`. Where the kernel allows no
 * hooks, the entry into the system call gives them: `syscalls`, which costs time in every system
 * call. Older kernels have the functions only: `fexit`. No other thread can interrupt a
 * tracepoint's program. It can interrupt a function's program, and then its own event is missed.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/socket.bpf.h"
#include "bpf/taskstate.bpf.h"
#include "bpf/unix.bpf.h"

/* include/linux/socket.h */
#define MSG_PEEK     0x2
#define MSG_ERRQUEUE 0x2000

#define MMSGHDR_SZ 64 /* struct mmsghdr */

/* The call that a thread is in. */
struct call {
	__u64 since_ns; /* when it began, or when it last sent or received; 0: not known */
	__u64 msg;	/* struct msghdr */
	__u64 nr;	/* syscalls: which one */
	__u32 sends;	/* in this call, so far */
	__u32 copied;	/* splice: up to here the socket has been read */
	__u64 sk;	/* splice: from this one */
	union {
		struct event_socket inet;
		struct event_unix path;
	} ends; /* scratch of its row: the stack has no room for it */
};

TASK_STATE(net, call, struct call, 4096) /* 900 KB */

#define NAME_V4_SZ 16 /* struct sockaddr_in */

/* A sockaddr_in6. The first half is a sockaddr_in. */
struct name {
	__u16 family;
	__be16 port;
	__u8 v4[4];
	__u8 rest[16]; /* IPv6: the address */
};

struct transfer {
	__u64 since_ns; /* equal to now_ns: not known */
	__u64 now_ns;
	long ret;
	__u32 kind;
	__u32 flags;	  /* MSG_… */
	struct name peer; /* set if the hook has it; family 0: unknown */
};

SEC("?tp_btf/sched_process_free")
int BPF_PROG(net__any__free, struct task_struct *task)
{
	call__forget(task);
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static __always_inline __u32 kind_of(const struct sock *sk, bool sends)
{
	if (is_unix(sk))
		return sends ? EVENT_UNIX_SEND : EVENT_UNIX_RECV;
	if (!is_inet(sk))
		return EVENT_KIND_CNT;
	if (is_tcp(sk))
		return sends ? EVENT_TCP_SEND : EVENT_TCP_RECV;
	if (is_udp(sk))
		return sends ? EVENT_UDP_SEND : EVENT_UDP_RECV;
	return EVENT_KIND_CNT;
}

static __always_inline bool is_wanted(struct task_struct *task, const struct transfer *t)
{
	return capturing(t->now_ns) && t->kind != EVENT_KIND_CNT && recorded(task);
}

static __always_inline bool is_send(const struct transfer *t)
{
	return t->kind == EVENT_TCP_SEND || t->kind == EVENT_UDP_SEND || t->kind == EVENT_UNIX_SEND;
}

static __always_inline bool is_datagram(const struct transfer *t)
{
	return t->kind == EVENT_UDP_SEND || t->kind == EVENT_UDP_RECV;
}

/* Nothing was received by a peek, a read from the error queue, or at the end of a stream. */
static __always_inline bool has_moved(const struct sock *sk, const struct transfer *t)
{
	if (!is_send(t) && t->flags & (MSG_PEEK | MSG_ERRQUEUE))
		return false;
	if (t->ret == -EAGAIN)
		return timed_out(is_send(t) ? BPF_CORE_READ(sk, sk_sndtimeo)
					    : BPF_CORE_READ(sk, sk_rcvtimeo),
				 t->flags);
	return t->ret || is_datagram(t);
}

/* IPv6 sockets may send to IPv4 addresses. */
static __always_inline void set_peer(struct event_socket *ends, const struct name *peer)
{
	if (peer->family != AF_INET && peer->family != AF_INET6)
		return;
	ends->peer_port = bpf_ntohs(peer->port);
	__builtin_memset(ends->peer, 0, sizeof(ends->peer));
	if (peer->family == AF_INET6) {
		__builtin_memcpy(ends->peer, peer->rest, sizeof(peer->rest));
	} else if (ends->family == AF_INET6) {
		ends->peer[10] = ends->peer[11] = 0xff;
		__builtin_memcpy(ends->peer + 12, peer->v4, sizeof(peer->v4));
	} else {
		__builtin_memcpy(ends->peer, peer->v4, sizeof(peer->v4));
	}
}

static __always_inline bool transfer__is_unix(const struct transfer *t)
{
	return t->kind == EVENT_UNIX_SEND || t->kind == EVENT_UNIX_RECV;
}

/* Describes the row's socket. Without memory, the row has no description. */
static __always_inline void transfer__describe(struct call *call, const struct sock *sk,
					       const struct transfer *t, struct emission *row)
{
	if (!call)
		return;
	row->detail_data = &call->ends;
	if (transfer__is_unix(t)) {
		unix__describe(sk, &call->ends.path);
		row->detail = EVENT_DETAIL_UNIX;
		row->detail_sz = sizeof(call->ends.path);
		row->target = unix__peer_tgid(sk);
		row->flags = row->target ? EVENT_F_TARGET : 0;
		return;
	}
	socket__describe(sk, &call->ends.inet);
	set_peer(&call->ends.inet, &t->peer);
	row->detail = EVENT_DETAIL_SOCKET;
	row->detail_sz = sizeof(call->ends.inet);
}

static __always_inline void transfer__emit(void *ctx, const struct sock *sk,
					   const struct transfer *t)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 since_ns = t->since_ns < begin_ns ? begin_ns : t->since_ns;
	struct emission row = { .time_ns = t->now_ns,
				.duration_ns = t->now_ns - since_ns,
				.amount = t->ret > 0 ? t->ret : 0,
				.reason = t->ret == -EAGAIN ? ETIMEDOUT : reason_of(t->ret),
				.kind = t->kind,
				.cpu = bpf_get_smp_processor_id(),
				.runnable_ns = ~0ULL };

	if (!has_moved(sk, t))
		return;
	transfer__describe(call__create(task), sk, t, &row);
	emit(ctx, task, &row, cfg.how[EVENT_TCP_SEND]);
}

/* ---- tp, fexit ---------------------------------------------------------------------------------
 */

static __always_inline int begin(const void *msg)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct call *call;

	call = call__create(task);
	if (call) {
		call->since_ns = bpf_ktime_get_ns();
		call->msg = (__u64)msg;
	}
	return 0;
}

/* The message still exists. After a failed receive, its name has not been written. */
static __always_inline void read_message(const struct msghdr *msg, struct transfer *t)
{
	const void *name = BPF_CORE_READ(msg, msg_name);

	if (is_send(t))
		t->flags = BPF_CORE_READ(msg, msg_flags);
	if (name && is_datagram(t) && (is_send(t) || t->ret >= 0))
		bpf_probe_read_kernel(&t->peer, sizeof(t->peer), name);
}

static __always_inline int end(void *ctx, const struct sock *sk, struct transfer *t)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct call *call;

	t->now_ns = t->since_ns = bpf_ktime_get_ns();
	if (!is_wanted(task, t))
		return 0;
	call = call__find(task);
	if (call && call->since_ns) {
		t->since_ns = call->since_ns;
		if (call->msg)
			read_message((const struct msghdr *)call->msg, t);
		call->since_ns = 0;
	}
	transfer__emit(ctx, sk, t);
	return 0;
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(net__tp__send, struct sock *sk, int ret, int flags)
{
	struct transfer t = { .ret = ret, .kind = kind_of(sk, true) };

	return end(ctx, sk, &t);
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(net__tp__recv, struct sock *sk, int ret, int flags)
{
	struct transfer t = { .ret = ret, .kind = kind_of(sk, false), .flags = flags };

	return end(ctx, sk, &t);
}

/* sendfile() and splice() to a socket, up to 6.4 */
SEC("?fexit/inet_sendpage")
int BPF_PROG(net__fexit__inet_sendpage, struct socket *sock, void *page, int offset,
	     unsigned long sz, int flags, long ret)
{
	struct transfer t = { .ret = ret, .kind = kind_of(sock->sk, true), .flags = flags };

	return end(ctx, sock->sk, &t);
}

#define BEGINS(way, function, message)                                                        \
	SEC("?fentry/" #function)                                                             \
	int BPF_PROG(net__##way##__##function##_begins, struct socket *sock, const void *msg) \
	{                                                                                     \
		return begin(message);                                                        \
	}

#define SENDS(way, function)                                                                     \
	SEC("?fexit/" #function)                                                                 \
	int BPF_PROG(net__##way##__##function, struct socket *sock, void *msg, unsigned long sz, \
		     int ret)                                                                    \
	{                                                                                        \
		struct transfer t = { .ret = ret, .kind = kind_of(sock->sk, true) };             \
		return end(ctx, sock->sk, &t);                                                   \
	}

#define RECEIVES(way, function)                                                                  \
	SEC("?fexit/" #function)                                                                 \
	int BPF_PROG(net__##way##__##function, struct socket *sock, void *msg, unsigned long sz, \
		     int flags, int ret)                                                         \
	{                                                                                        \
		struct transfer t = { .ret = ret,                                                \
				      .kind = kind_of(sock->sk, false),                          \
				      .flags = flags };                                          \
		return end(ctx, sock->sk, &t);                                                   \
	}

/*
 * Receives of SOCK_DGRAM and SOCK_SEQPACKET. unix_dgram_recvmsg() is not enough: compilers copy it
 * into unix_seqpacket_recvmsg().
 */
#define BEGINS_UNIX_DGRAM(way)                                                                  \
	SEC("?fentry/__unix_dgram_recvmsg")                                                     \
	int BPF_PROG(net__##way##__unix_dgram_recvmsg_begins, struct sock *sk, const void *msg) \
	{                                                                                       \
		return begin(msg);                                                              \
	}

#define SPLICES(way)                                                                            \
	SEC("?fexit/tcp_splice_read")                                                           \
	int BPF_PROG(net__##way##__tcp_splice_read, struct socket *sock, void *pos, void *pipe, \
		     unsigned long sz, unsigned flags, long ret)                                \
	{                                                                                       \
		struct transfer t = { .ret = ret, .kind = kind_of(sock->sk, false) };           \
		return end(ctx, sock->sk, &t);                                                  \
	}

/* Functions for the data that the tracepoints do not report. */
BEGINS(tp, inet_sendmsg, msg)
BEGINS(tp, inet6_sendmsg, msg)
BEGINS(tp, inet_recvmsg, msg)
BEGINS(tp, inet6_recvmsg, msg)
BEGINS(tp, tcp_splice_read, NULL)
SPLICES(tp)
BEGINS(tp, unix_stream_sendmsg, msg)
BEGINS(tp, unix_stream_recvmsg, msg)
BEGINS(tp, unix_dgram_sendmsg, msg)
BEGINS_UNIX_DGRAM(tp)

/* Without tracepoints: all functions. */
BEGINS(fexit, inet_sendmsg, msg)
SENDS(fexit, inet_sendmsg)
BEGINS(fexit, inet6_sendmsg, msg)
SENDS(fexit, inet6_sendmsg)
BEGINS(fexit, inet_recvmsg, msg)
RECEIVES(fexit, inet_recvmsg)
BEGINS(fexit, inet6_recvmsg, msg)
RECEIVES(fexit, inet6_recvmsg)
BEGINS(fexit, inet_sendpage, NULL) /* its end is above */
BEGINS(fexit, tcp_splice_read, NULL)
SPLICES(fexit)
BEGINS(fexit, unix_stream_sendmsg, msg)
SENDS(fexit, unix_stream_sendmsg)
BEGINS(fexit, unix_stream_recvmsg, msg)
RECEIVES(fexit, unix_stream_recvmsg)
BEGINS(fexit, unix_dgram_sendmsg, msg) /* also of SOCK_SEQPACKET */
SENDS(fexit, unix_dgram_sendmsg)
BEGINS_UNIX_DGRAM(fexit)

SEC("?fexit/__unix_dgram_recvmsg")
int BPF_PROG(net__fexit__unix_dgram_recvmsg, struct sock *sk, void *msg, unsigned long sz,
	     int flags, int ret)
{
	struct transfer t = { .ret = ret, .kind = kind_of(sk, false), .flags = flags };

	return end(ctx, sk, &t);
}

/* ---- syscalls ----------------------------------------------------------------------------------
 */

/* Calls that may send or receive. */
static const bool may_move[] = {
	[__NR_read] = true,	      [__NR_readv] = true,   [__NR_preadv2] = true,
	[__NR_recvfrom] = true,	      [__NR_recvmsg] = true, [__NR_recvmmsg] = true,
	[__NR_write] = true,	      [__NR_writev] = true,  [__NR_pwritev2] = true,
	[__NR_sendto] = true,	      [__NR_sendmsg] = true, [__NR_sendmmsg] = true,
	[__NR_sendfile] = true,	      [__NR_splice] = true,  [__NR_io_submit] = true,
	[__NR_io_uring_enter] = true,
};

/* The numbers of calls in 32-bit programs are different: any of their calls may move data. */
static __always_inline bool is_call(const struct task_struct *task, __u64 nr)
{
	return task__in_compat_call(task) || (nr < sizeof(may_move) && may_move[nr]);
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(net__syscalls__sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct call *call;

	if (!is_call(task, nr))
		return 0;
	call = call__create(task);
	if (!call)
		return 0;
	call->since_ns = bpf_ktime_get_ns();
	call->nr = nr;
	call->sends = 0;
	if (nr == __NR_splice) {
		struct sock *sk = socket__of_fd(task, REGS_ARG_0(regs));

		call->sk = (__u64)sk;
		call->copied = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq);
	}
	return 0;
}

/* Returns what is remembered of the thread's current system call, or NULL. */
static __always_inline struct call *current_call(struct task_struct *task)
{
	struct call *call;

	/* threads of the kernel and of io_uring are not in a system call */
	if (!has_user_side(task))
		return NULL;
	call = call__find(task);
	return call && call->nr == current_nr(task) ? call : NULL;
}

/* If a call has several sends, each has the time since the previous one. */
static __always_inline __u64 since_of(struct task_struct *task, struct call *call, __u64 now_ns)
{
	__u64 since_ns = now_ns;

	if (call) {
		since_ns = call->since_ns;
		call->since_ns = now_ns;
	} else if (has_user_side(task) && is_call(task, current_nr(task)) && !call__find(task)) {
		since_ns = begin_ns; /* the call began before the programs were attached */
	}
	return since_ns;
}

static __always_inline void read_name(struct name *out, __u64 addr)
{
	if (bpf_probe_read_user(out, NAME_V4_SZ, (const void *)addr))
		out->family = 0;
	else if (out->family == AF_INET6 &&
		 bpf_probe_read_user(out, sizeof(*out), (const void *)addr))
		out->family = 0;
}

/* Reads the destination of a send that names it, as the program wrote it. Does not work for 32-bit
 * programs. */
static __always_inline void read_destination(struct task_struct *task, const struct call *call,
					     struct name *out)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	__u64 addr = 0;

	if (task__in_compat_call(task))
		return;
	if (call->nr == __NR_sendto)
		addr = REGS_ARG_4(regs);
	else if (call->nr == __NR_sendmsg)
		bpf_probe_read_user(&addr, sizeof(addr), (const void *)REGS_ARG_1(regs));
	else if (call->nr == __NR_sendmmsg)
		bpf_probe_read_user(&addr, sizeof(addr),
				    (const void *)(REGS_ARG_1(regs) + call->sends * MMSGHDR_SZ));
	if (addr)
		read_name(out, addr);
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(net__syscalls__send, struct sock *sk, int ret, int flags)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct transfer t = { .now_ns = bpf_ktime_get_ns(), .ret = ret, .kind = kind_of(sk, true) };
	struct call *call;

	if (!is_wanted(task, &t))
		return 0;
	call = current_call(task);
	t.since_ns = since_of(task, call, t.now_ns);
	if (call && is_datagram(&t))
		read_destination(task, call, &t.peer);
	if (call)
		call->sends++;
	transfer__emit(ctx, sk, &t);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(net__syscalls__recv, struct sock *sk, int ret, int flags)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct transfer t = {
		.now_ns = bpf_ktime_get_ns(), .ret = ret, .kind = kind_of(sk, false), .flags = flags
	};

	if (!is_wanted(task, &t))
		return 0;
	t.since_ns = since_of(task, current_call(task), t.now_ns);
	transfer__emit(ctx, sk, &t);
	return 0;
}

/*
 * splice() from a socket has no hook but this one, after it has taken bytes and with the socket
 * locked. It also runs in interrupts, for sockets that the kernel reads.
 */
SEC("?tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(net__syscalls__splice, struct sock *sk)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct transfer t = { .kind = EVENT_TCP_RECV };
	struct call *call;
	__u32 copied;

	if (current_nr(task) != __NR_splice)
		return 0;
	t.now_ns = bpf_ktime_get_ns();
	call = current_call(task);
	if (!call || call->sk != (__u64)sk || !is_wanted(task, &t))
		return 0;
	copied = BPF_CORE_READ((struct tcp_sock *)sk, copied_seq);
	t.ret = copied - call->copied;
	call->copied = copied;
	t.since_ns = since_of(task, call, t.now_ns);
	transfer__emit(ctx, sk, &t);
	return 0;
}
