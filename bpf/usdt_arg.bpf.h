/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the arguments of a USDT probe. */
#ifndef USDT_ARG_BPF_H
#define USDT_ARG_BPF_H

#include "bpf/base.bpf.h"
#include "bpf/usdt_site.h"

static __always_inline __u64 reg(const void *ctx, __u16 off)
{
	__u64 v = 0;

	if (off != USDT_NO_REG)
		bpf_probe_read_kernel(&v, sizeof(v), ctx + off);
	return v;
}

/* Extends the lower `sz` bytes of a value, at most 8, to 64 bits. */
static __always_inline __u64 extend(__u64 v, __u32 sz, bool is_signed)
{
	__u32 unused_bits = 64 - 8 * sz;

	v <<= unused_bits;
	return is_signed ? (__u64)((__s64)v >> unused_bits) : v >> unused_bits;
}

/* Returns 0 if the argument cannot be read. */
static __noinline __u64 read_arg(const void *ctx, const struct usdt_arg *a)
{
	__u64 v = a->add + reg(ctx, a->base) + (reg(ctx, a->index) << (a->shift & 7));
	__u32 sz = a->sz;

	if (sz > sizeof(v))
		return 0;
	if (a->deref) {
		__u64 addr = v;

		v = 0;
		if (bpf_probe_read_user(&v, sz, (const void *)addr))
			return 0;
	}
	return extend(v, sz, a->is_signed);
}

/* Reads 16 bytes, or fewer if the string ends before that or memory cannot be read. */
static __always_inline void read_name(char *name, __u64 addr)
{
	if (bpf_probe_read_user(name, EVENT_SPAN_SZ, (const void *)addr) &&
	    bpf_probe_read_user_str(name, EVENT_SPAN_SZ, (const void *)addr) < 0)
		__builtin_memset(name, 0, EVENT_SPAN_SZ);
}

#endif
