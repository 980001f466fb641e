// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/filter.bpf.h"

#define ANCESTORS_MAX	 32
#define CGROUP_DEPTH_MAX 64
#define CLONE_THREAD	 0x00010000 /* include/uapi/linux/sched.h */

/*
 * Recorded processes. The value is the start time of the process's first thread, because a process
 * id may be reused; 0 if user space added the process; or CAPTURE_FROM_EXEC. User space sets the
 * sizes of this and the following maps before loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} targets SEC(".maps");

struct name {
	char comm[EVENT_COMM_SZ];
};

#define SET_OF(key_type, name)                   \
	struct {                                 \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__type(key, key_type);           \
		__type(value, __u8);             \
		__uint(max_entries, 1);          \
	} name SEC(".maps")

SET_OF(__u32, tids);
SET_OF(struct name, comms);
SET_OF(__u32, uids);
SET_OF(__u64, cgroups);

static __always_inline void target__add(__u32 tgid, const struct task_struct *task)
{
	__u64 start_ns = task->group_leader->start_time;

	if (bpf_map_update_elem(&targets, &tgid, &start_ns, BPF_ANY))
		lose(EVENT_KIND_CNT, EVENT_LOST_STATE_FULL);
}

/* Kernels before 5.17 leave bytes of an earlier, longer name after the end of the current one. */
static __always_inline bool has_name(const struct task_struct *task)
{
	const struct task_struct *leader = task->group_leader;
	struct name key = {};

	bpf_probe_read_kernel_str(key.comm, EVENT_COMM_SZ, leader->comm);
	return bpf_map_lookup_elem(&comms, &key);
}

/* Returns true if --pid, a name or an ancestor selects the thread. A process that is accepted by
 * its name stays accepted. */
static __always_inline bool is_target(const struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	const __u64 *start_ns = bpf_map_lookup_elem(&targets, &tgid);

	if (start_ns)
		return *start_ns != CAPTURE_FROM_EXEC;
	if (cfg.comm_cnt && has_name(task)) {
		target__add(tgid, task);
		return true;
	}
	return cfg.tid_cnt && bpf_map_lookup_elem(&tids, &tid);
}

/* Returns true if it is one of the cgroups or below one. A cgroup's own css leads up:
 * cgroup_subsys_state.parent. */
static __always_inline bool in_cgroups(const struct cgroup *cgroup)
{
	for (int i = 0; i < CGROUP_DEPTH_MAX; i++) {
		const struct cgroup_subsys_state *up;
		__u64 id = cgroup->kn->id;

		if (bpf_map_lookup_elem(&cgroups, &id))
			return true;
		up = cgroup->self.parent;
		if (!up)
			break;
		cgroup = up->cgroup;
	}
	return false;
}

static __always_inline bool has_uid(const struct task_struct *task)
{
	__u32 uid = task->cred->euid.val;

	return bpf_map_lookup_elem(&uids, &uid);
}

__hidden bool is_collector(const struct task_struct *task)
{
	__u32 tgid = task->tgid, starter = cfg.exclude_tgids[2];

	if (tgid == cfg.exclude_tgids[0] || tgid == cfg.exclude_tgids[1] || tgid == starter)
		return true;
	return starter && (__u32)task->real_parent->tgid == starter;
}

__hidden bool recorded_in(struct task_struct *task, const struct cgroup *cgroup)
{
	if (!task->pid || is_collector(task))
		return false;
	if (cfg.who && !is_target(task))
		return false;
	if (cfg.uid_cnt && !has_uid(task))
		return false;
	return !cfg.cgroup_cnt || in_cgroups(cgroup);
}

__hidden bool recorded(struct task_struct *task)
{
	return recorded_in(task, cfg.cgroup_cnt ? task->cgroups->dfl_cgrp : NULL);
}

/* A child of a target becomes a target before it runs. A reused id starts afresh. */
SEC("?tp_btf/task_newtask")
int BPF_PROG(filter__newtask, struct task_struct *task, __u64 clone_flags)
{
	__u32 tgid = task->tgid, tid = task->pid;

	bpf_map_delete_elem(&tids, &tid);
	if (clone_flags & CLONE_THREAD)
		return 0;
	if (is_target((void *)bpf_get_current_task_btf()))
		target__add(tgid, task);
	else
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

/* Records a launched command from its exec on: before that, the process ran the collector's code.
 */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(filter__exec, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	const __u64 *start_ns = bpf_map_lookup_elem(&targets, &tgid);

	if (start_ns && *start_ns == CAPTURE_FROM_EXEC)
		target__add(tgid, task);
	return 0;
}

/* Runs when the thread is freed and not at its exit, because it switches once more after that. */
SEC("?tp_btf/sched_process_free")
int BPF_PROG(filter__free, struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	__u64 *start_ns;

	bpf_map_delete_elem(&tids, &tid);
	if (tgid != tid)
		return 0;
	start_ns = bpf_map_lookup_elem(&targets, &tgid);
	if (start_ns && (!*start_ns || *start_ns == task->start_time))
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

/* Finds the descendants that targets have when the recording begins. */
SEC("?iter/task")
int filter__scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *up = task;

	if (!task || task->pid != task->tgid)
		return 0;
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (!up || !up->pid)
			break;
		if (is_target(up)) {
			target__add(task->tgid, task);
			break;
		}
		up = up->real_parent;
	}
	return 0;
}
