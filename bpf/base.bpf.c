// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/base.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct capture_config cfg = {};
volatile __u64 begin_ns, end_ns;
volatile __u64 thinning[EVENT_KIND_CNT];
volatile __u64 lossy; /* something was lost since user space cleared it */

struct losses {
	__u64 cnt[EVENT_KIND_CNT + 1][EVENT_LOSS_CNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct losses);
	__uint(max_entries, 1);
} losses SEC(".maps");

/* Atomic, because an interrupt on this CPU may lose an event too. User space clears `lossy` and
 * then reads the counts. */
__hidden void lose(__u32 kind, __u32 reason)
{
	struct losses *l = bpf_map_lookup_elem(&losses, &(__u32){ 0 });

	OPAQUE(kind); /* the verifier learns nothing from the compiler's comparison of its bits */
	if (l && kind <= EVENT_KIND_CNT && reason < EVENT_LOSS_CNT)
		__sync_fetch_and_add(&l->cnt[kind][reason], 1);
	if (!lossy)
		lossy = 1;
}
