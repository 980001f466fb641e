// SPDX-License-Identifier: GPL-2.0-or-later
#include "interrupt.bpf.h"

struct preempt_counts preempt_counts SEC(".maps");
