/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells whether the current task or an interrupt runs the program. */
#ifndef INTERRUPT_BPF_H
#define INTERRUPT_BPF_H

#include "bpf/base.bpf.h"

/* Returns true in a hard or soft interrupt. Needs cfg.preempt_count_off. */
bool in_interrupt(void) __hidden;

#endif
