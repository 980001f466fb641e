/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether a thread is recorded. */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "bpf/base.bpf.h"

/* Returns true for the collector and the processes that work for it. */
bool is_collector(const struct task_struct *task) __hidden;

/*
 * Returns true if the filters accept the thread. The name and pid filters accept a process once and
 * permanently, with its descendants. User and cgroup are checked each time. Idle tasks are never
 * recorded, and the collector only on request.
 */
bool recorded(struct task_struct *task) __hidden;

/* Like recorded(), for work that a thread does on behalf of a cgroup that may not be its own. */
bool recorded_in(struct task_struct *task, const struct cgroup *cgroup) __hidden;

#endif
