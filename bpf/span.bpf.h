/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spans that threads are in. */
#ifndef SPAN_BPF_H
#define SPAN_BPF_H

#include "bpf/emit.bpf.h"

/* The data of a span at its enter. */
struct open_span {
	__u64 span_id, parent_id, id, amount;
	__u64 enter_ns;
	char name[EVENT_SPAN_SZ];
};

/* Returns the innermost span of a thread, or NULL. Only with cfg.spans. */
const struct open_span *span__innermost(struct task_struct *task) __hidden;

#endif
