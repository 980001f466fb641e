/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel keeps how deep each CPU is in interrupts, by its types. */
#ifndef CAPTURE_PREEMPT_H
#define CAPTURE_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

struct preempt_count {
	int64_t from_rq;	 /* bytes from a CPU's run queue to its count of 32 bits */
	uint32_t interrupt_bits; /* of which one is set in a hard or soft interrupt */
};

/* False: the types do not say, or tasks do not point to run queues. */
bool preempt_count__find(const struct btf *, struct preempt_count *);

#endif
