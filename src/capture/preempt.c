// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/preempt.h"

#include "bpf/arch.h"
#include "capture/ktypes.h"

/* include/linux/preempt.h. SOFTIRQ is set while one is served, not while they are disabled. Kernels
 * that also count there how often interrupts were disabled have the other layout. */
#define SOFTIRQ		 0x00000100
#define HARDIRQS	 0x000f0000
#define HARDIRQS_COUNTED 0x0f000000

/* Finds the counter: a separate variable, or from 6.2 to 6.14 a member of pcpu_hot. */
static int64_t preempt_find_count(const struct btf *btf)
{
	uint32_t type;
	int64_t off = ktypes__variable(btf, "__preempt_count", &type), member;

	if (off >= 0)
		return off;
	off = ktypes__variable(btf, "pcpu_hot", &type);
	member = off < 0 ? -1 : ktypes__member(btf, type, "preempt_count");
	return member < 0 ? -1 : off + member;
}

bool preempt_count__find(const struct btf *btf, struct preempt_count *out)
{
	uint32_t type;
	int64_t rq, count;
	bool counted = ktypes__variable(btf, "local_interrupt_disable_state", &type) >= 0;

	out->from_rq = 0;
	out->interrupt_bits = SOFTIRQ | (counted ? HARDIRQS_COUNTED : HARDIRQS);
	if (ARCH_TASK_COUNTS_INTERRUPTS)
		return true;
	rq = ktypes__variable(btf, "runqueues", &type);
	count = preempt_find_count(btf);

	if (rq < 0 || count < 0 || ktypes__member_of(btf, "sched_entity", "cfs_rq") < 0 ||
	    ktypes__member_of(btf, "cfs_rq", "rq") < 0 || ktypes__member_of(btf, "rq", "cpu") < 0)
		return false;
	out->from_rq = count - rq;
	return true;
}
