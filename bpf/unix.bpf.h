/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describes Unix sockets for events. */
#ifndef UNIX_BPF_H
#define UNIX_BPF_H

#include "bpf/base.bpf.h"

#define AF_UNIX 1 /* include/linux/socket.h */

static __always_inline bool is_unix(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_family) == AF_UNIX;
}

/* An address never changes once a socket has it. It may have no NUL at its end. Returns false if
 * the socket has none. */
static __always_inline bool unix__read_path(const struct sock *sk, struct event_unix *out)
{
	const struct unix_address *addr = BPF_CORE_READ((const struct unix_sock *)sk, addr);
	__u64 sz = addr ? BPF_CORE_READ(addr, len) - (int)sizeof(__u16) : 0; /* less the family */

	OPAQUE(sz);
	if (!sz || sz > sizeof(out->path) || bpf_core_read(out->path, sz, &addr->name[0].sun_path))
		return false;
	if (!out->path[0])
		out->path[0] = '@';
	return true;
}

/* `sk` may be any pointer. */
static __always_inline void unix__describe(const struct sock *sk, struct event_unix *out)
{
	const struct sock *peer;

	__builtin_memset(out, 0, sizeof(*out));
	out->is_local = unix__read_path(sk, out);
	if (out->is_local)
		return;
	peer = BPF_CORE_READ((const struct unix_sock *)sk, peer);
	if (peer)
		unix__read_path(peer, out);
}

/* The process that connected, listened or made the pair of sockets; 0: unknown. */
static __always_inline __u32 unix__peer_tgid(const struct sock *sk)
{
	const struct pid *pid = BPF_CORE_READ(sk, sk_peer_pid);
	int nr = 0;

	if (pid)
		bpf_core_read(&nr, sizeof(nr), &pid->numbers[0].nr);
	return nr;
}

#endif
