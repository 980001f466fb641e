/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is it the current task that does this, or an interrupt that came between? */
#ifndef INTERRUPT_BPF_H
#define INTERRUPT_BPF_H

#include "bpf/emit.bpf.h"

/* In a hard or soft interrupt. Only where cfg.preempt_count_off is known. */
bool in_interrupt(void) __hidden;

#endif
