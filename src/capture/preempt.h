/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds, from the kernel's types, where the kernel counts the nesting of interrupts on each CPU. */
#ifndef CAPTURE_PREEMPT_H
#define CAPTURE_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

struct preempt_count {
	int64_t from_rq;	 /* bytes from a CPU's run queue to its count of 32 bits */
	uint32_t interrupt_bits; /* one of these is set in a hard or soft interrupt */
};

/* Returns false if the types have no such counter, or if tasks do not point to run queues. */
bool preempt_count__find(const struct btf *, struct preempt_count *);

#endif
