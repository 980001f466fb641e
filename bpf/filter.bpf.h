/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is this thread recorded? */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "bpf/emit.bpf.h"

/*
 * The name and pid filters (`who`) accept a process once and then for good, and its descendants
 * with it; user and cgroup are looked at each time. Idle tasks never, the collector only when asked
 * for.
 */
bool is_collector(const struct task_struct *task) __hidden;
bool recorded(struct task_struct *task) __hidden;

/* The same for what a thread does in the name of a cgroup that need not be its own. */
bool recorded_in(struct task_struct *task, const struct cgroup *cgroup) __hidden;

#endif
