/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state that a source keeps for each thread: in the kernel's task storage, or in a reserve.
 *
 * The kernel allocates task storage for a tracing program without waiting. That fails while the
 * memory cgroup of the collector is at its limit (the page cache keeps it there), or while the
 * machine is short of memory: 438 of 12,169 new threads in such a cgroup. The reserve has its
 * memory from the start. Its size does not affect the start-up time, only the memory.
 */
#ifndef TASKSTATE_BPF_H
#define TASKSTATE_BPF_H

#include "bpf/base.bpf.h"

/* By address, because a thread's id may be reused before the kernel has freed the thread. */
static __always_inline __u64 task_state__key(const struct task_struct *task)
{
	return (__u64)task;
}

static __always_inline void *task_state__find(void *storage, void *reserve,
					      struct task_struct *task)
{
	void *state = bpf_task_storage_get(storage, task, NULL, 0);
	__u64 key = task_state__key(task);

	return state ? state : bpf_map_lookup_elem(reserve, &key);
}

/* Allocates nothing, so it also works while the run queue is locked. */
static __always_inline void *task_state__reserve(void *reserve, struct task_struct *task,
						 const void *init)
{
	__u64 key = task_state__key(task);

	bpf_map_update_elem(reserve, &key, init, BPF_NOEXIST);
	return bpf_map_lookup_elem(reserve, &key);
}

static __always_inline void *task_state__create(void *storage, void *reserve,
						struct task_struct *task, const void *zero)
{
	void *state = task_state__find(storage, reserve, task);

	if (!state)
		state = bpf_task_storage_get(storage, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) /* or another CPU has created it: then the kernel answers with NULL, too */
		state = bpf_task_storage_get(storage, task, NULL, 0);
	return state ? state : task_state__reserve(reserve, task, zero);
}

/* a source may need only some of them */
#define TASK_STATE_FN __always_inline __attribute__((unused))

/*
 * Defines the state `object` of the source `probe`, and the functions of it:
 *
 *   object__find(task)           returns NULL if there is none.
 *   object__create(task)         finds it, or makes one of zeros. Returns NULL if the reserve is
 *                                full. Not while the run queue is locked.
 *   object__reserve(task, init)  the same, but allocates nothing.
 *   object__forget(task)         for tp_btf/sched_process_free: no program sees the thread later.
 *
 * Do not use the pointer behind emit(); find the state again. The verifier follows emit() once for
 * each map that a live pointer can be into: 139,000 instructions instead of 19,000 (switch, 6.18).
 */
#define TASK_STATE(probe, object, state_type, reserve_cnt)                                        \
	struct {                                                                                  \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                          \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                             \
		__type(key, int);                                                                 \
		__type(value, state_type);                                                        \
	} probe##__##object SEC(".maps");                                                         \
	struct {                                                                                  \
		__uint(type, BPF_MAP_TYPE_HASH);                                                  \
		__type(key, __u64);                                                               \
		__type(value, state_type);                                                        \
		__uint(max_entries, reserve_cnt);                                                 \
	} probe##__##object##_reserve SEC(".maps");                                               \
	static const char object##__zero[sizeof(state_type)];                                     \
	static TASK_STATE_FN state_type *object##__find(struct task_struct *task)                 \
	{                                                                                         \
		return task_state__find(&probe##__##object, &probe##__##object##_reserve, task);  \
	}                                                                                         \
	static TASK_STATE_FN state_type *object##__reserve(struct task_struct *task,              \
							   const state_type *init)                \
	{                                                                                         \
		return task_state__reserve(&probe##__##object##_reserve, task, init);             \
	}                                                                                         \
	static TASK_STATE_FN state_type *object##__create(struct task_struct *task)               \
	{                                                                                         \
		return task_state__create(&probe##__##object, &probe##__##object##_reserve, task, \
					  object##__zero);                                        \
	}                                                                                         \
	static TASK_STATE_FN void object##__forget(const struct task_struct *task)                \
	{                                                                                         \
		__u64 key = task_state__key(task);                                                \
                                                                                                  \
		bpf_map_delete_elem(&probe##__##object##_reserve, &key);                          \
	}

#endif
