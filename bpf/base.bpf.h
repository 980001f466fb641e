/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all programs share: the configuration and the times that user space sets, and the counts of
 * lost events that it reads. */
#ifndef BASE_BPF_H
#define BASE_BPF_H

#include "vmlinux.h"
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/arch.bpf.h"
#include "bpf/config.h"
#include "bpf/event.h"

#pragma clang diagnostic ignored "-Wunused-parameter" /* BPF_PROG() gives every program a ctx */

/* Keeps the verifier's knowledge of a bound that the compiler considers redundant. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

extern const volatile struct capture_config cfg;

/* CLOCK_MONOTONIC. User space writes them a little in the future, so that all CPUs turn events on
 * and off at the same time. 0: not yet. */
extern volatile __u64 begin_ns, end_ns;

/* User space changes them while programs run: of the events of a kind, 1 of so many is recorded,
 * with the weight of all of them (rss, switch: the next row stands for those left out). 0 and 1:
 * all. Always 0 without cfg.thins. */
extern volatile __u64 thinning[EVENT_KIND_CNT];

/* Counts the bits that are set, without branches, because the verifier would follow each branch.
 * clang 14 crashes on __builtin_popcountll() and __builtin_ctzll(). */
static __always_inline __u32 bits_in(__u64 v)
{
	v -= v >> 1 & 0x5555555555555555;
	v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return v * 0x0101010101010101 >> 56;
}

/* A program calls this first, with a time that it took before. */
static __always_inline bool capturing(__u64 now_ns)
{
	__u64 end = end_ns;

	return begin_ns && now_ns >= begin_ns && (!end || now_ns <= end);
}

/* Counts one more lost event of the kind. EVENT_KIND_CNT stands for the filters. */
void lose(__u32 kind, __u32 reason) __hidden;

#endif
