// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/emit.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/ustack.bpf.h"

#define WAKEUP_INTERVAL_NS 1000000
#define PACE_BURST_NS	   1000000000

#define EVENT_SZ_MAX(stack_sz) \
	(sizeof(struct event) + CAPTURE_BEFORE_RUNTIME(stack_sz) + CAPTURE_RUNTIME_SZ)

/* The slots of each CPU. User space creates them when the CPU is online. Sizes are set before
 * loading. Ordinary arrays, because a value of a per-CPU array can have at most 32 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 1);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct capture_slot));
			__uint(max_entries, CAPTURE_LEVELS);
		});
} scratch SEC(".maps");

/* One ring per CPU, created by user space: a shared one costs 200 ns more per event. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 1);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, CAPTURE_PAGE);
		});
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} woken SEC(".maps"); /* the last time that this CPU woke user space */

struct pace {
	__u64 full_ns[EVENT_KIND_CNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct pace);
	__uint(max_entries, 1);
} paces SEC(".maps");

/* For each kind: the value of `thinning` with which `left` was chosen, and the number of events to
 * leave out before the next one. */
struct thins {
	struct {
		__u64 every, left;
	} of[EVENT_KIND_CNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct thins);
	__uint(max_entries, 1);
} thins SEC(".maps");

static __always_inline struct capture_slot *slot__take(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *slots = bpf_map_lookup_elem(&scratch, &cpu);

	for (__u32 i = 0; slots && i < CAPTURE_LEVELS; i++) {
		__u32 level = i;
		struct capture_slot *slot = bpf_map_lookup_elem(slots, &level);

		if (slot && !__sync_lock_test_and_set(&slot->busy, 1)) {
			slot->idx = cpu * CAPTURE_LEVELS + i;
			return slot;
		}
	}
	return NULL;
}

static __always_inline void slot__put(struct capture_slot *slot)
{
	*(volatile __u32 *)&slot->busy = 0;
}

/* From the moment at which exec has a new address space until it ends, the registers are still
 * those of the old program. */
static __always_inline bool between_programs(const struct task_struct *task, __u64 ustack_sz)
{
	return !ustack_sz && BPF_CORE_READ_BITFIELD(task, in_execve);
}

static __always_inline void copy_names(struct event *e, const struct task_struct *task,
				       __u64 cgroup_id)
{
	const struct task_struct *leader = task->group_leader;

	e->tgid = task->tgid;
	e->tid = task->pid;
	e->cgroup_id = cgroup_id ? cgroup_id : task->cgroups->dfl_cgrp->kn->id;
	__builtin_memcpy(e->thread, (const void *)task->comm, EVENT_COMM_SZ);
	__builtin_memcpy(e->comm, (const void *)leader->comm, EVENT_COMM_SZ);
}

static __always_inline void copy_owner(struct event *e, const struct owner *owner, __u64 cgroup_id)
{
	e->tgid = owner->tgid;
	e->tid = owner->tid;
	e->cgroup_id = cgroup_id ? cgroup_id : owner->cgroup_id;
	__builtin_memcpy(e->thread, owner->thread, EVENT_COMM_SZ);
	__builtin_memcpy(e->comm, owner->comm, EVENT_COMM_SZ);
}

static __always_inline void fill_header(struct event *e, const struct emission *what)
{
	e->time_ns = what->time_ns;
	e->duration_ns = what->duration_ns;
	e->amount = what->amount;
	e->id = what->id;
	e->span_id = 0;
	e->parent_id = 0;
	e->join = what->join;
	e->cpu = what->cpu;
	e->kind = what->kind;
	e->state = what->state;
	e->target = what->target;
	e->weight = what->weight ? what->weight : 1;
	e->reason = what->reason;
	e->detail = what->detail;
	e->flags = what->flags;
	e->runnable_ns = 0;
	if (what->runnable_ns != ~0ULL) {
		e->runnable_ns = what->runnable_ns;
		e->flags |= EVENT_F_RUNNABLE;
	}
	e->stack_addr = 0;
	__builtin_memset(e->span, 0, sizeof(e->span));
}

/* An event that belongs to another process is not known to be in a span of that process. */
static __always_inline void copy_span(struct event *e, struct task_struct *task,
				      const struct emission *what)
{
	const struct open_span *s = what->span;

	if (!s && !what->owner)
		s = span__innermost(task);
	if (!s)
		return;
	e->span_id = s->span_id;
	e->parent_id = s->parent_id;
	if (!what->id)
		e->id = s->id;
	__builtin_memcpy(e->span, s->name, EVENT_SPAN_SZ);
}

static __always_inline __u64 copy_detail(struct event *e, const struct emission *what)
{
	__u64 sz = what->detail_sz;

	OPAQUE(sz);
	if (!sz || sz > EVENT_DETAIL_MAX || bpf_probe_read_kernel(e->data, sz, what->detail_data))
		return 0;
	return sz;
}

#define KSTACK_SZ (EVENT_KSTACK_MAX * sizeof(__u64))

/*
 * Appends kernel frames, leaf first, after the first `at` bytes of data[]. The frames of a perf
 * event are those of the interrupted code: none in user code. Those of a tracepoint begin with this
 * program and its callers; user space removes them by name.
 */
static __always_inline __u64 copy_kstack(void *ctx, struct task_struct *task, struct event *e,
					 __u64 at, __u64 how)
{
	long sz;

	OPAQUE(at);
	if (at > EVENT_DETAIL_MAX)
		return 0;
	if (how & CAPTURE_OTHER)
		sz = bpf_get_task_stack(task, e->data + at, KSTACK_SZ, 0);
	else
		sz = bpf_get_stack(ctx, e->data + at, KSTACK_SZ, 0);
	if (sz <= 0)
		return 0;
	/* two comparisons: old verifiers learn nothing about sz from a comparison of sz - 1 */
	OPAQUE(sz);
	return sz <= (long)KSTACK_SZ ? sz : 0;
}

static __always_inline __u64 copy_user(struct task_struct *task, struct event *e, __u64 at,
				       __u64 how)
{
	const struct pt_regs *regs = (const void *)bpf_task_pt_regs(task);

	e->flags |= EVENT_F_USER;
	regs__copy(e->regs, regs);
	if (regs__are_compat(regs)) {
		e->flags |= EVENT_F_COMPAT;
		return 0;
	}
	if ((how & CAPTURE_OTHER) && !(how & CAPTURE_FAULT)) {
		e->flags |= EVENT_F_TRUNCATED;
		return 0;
	}
	return stack__copy(task, e, at, how);
}

/* User space reads the rings at intervals. It is woken if that is too late for this ring. */
static __always_inline __u64 wakeup_flags(void *ring, __u64 now_ns)
{
	__u64 *last_ns = bpf_map_lookup_elem(&woken, &(__u32){ 0 });

	if (!last_ns || (__s64)(now_ns - *last_ns) < WAKEUP_INTERVAL_NS ||
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < cfg.wakeup_sz)
		return BPF_RB_NO_WAKEUP;
	*last_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/*
 * A bucket that holds one second's worth of tokens, stored as the time at which it will be full
 * again (generic cell rate algorithm). A nested program on this CPU may take one token too many or
 * too few.
 */
static __always_inline bool paced(__u32 kind, __u64 now_ns)
{
	struct pace *p = bpf_map_lookup_elem(&paces, &(__u32){ 0 });
	__u64 full_ns;

	OPAQUE(kind);
	if (!cfg.pace_ns || !p || kind >= EVENT_KIND_CNT)
		return true;
	full_ns = p->full_ns[kind];
	if (full_ns < now_ns)
		full_ns = now_ns;
	if (full_ns - now_ns > PACE_BURST_NS)
		return false;
	p->full_ns[kind] = full_ns + cfg.pace_ns;
	return true;
}

/*
 * Returns the number of events for which this one stands, or 0 if it is left out. After each change
 * of N the first one is at a random place among N, so that each event is recorded with a
 * probability of exactly 1/N, and sums by weight stay right.
 */
static __always_inline __u64 thin(__u64 kind)
{
	struct thins *t = bpf_map_lookup_elem(&thins, &(__u32){ 0 });
	__u64 every;

	OPAQUE(kind);
	if (!t || kind >= EVENT_KIND_CNT || kind == EVENT_RSS || kind == EVENT_SWITCH)
		return 1;
	every = thinning[kind];
	if (every <= 1)
		return 1;
	if (t->of[kind].every != every) {
		t->of[kind].every = every;
		t->of[kind].left = bpf_get_prandom_u32() % every;
	}
	if (t->of[kind].left) {
		t->of[kind].left--;
		return 0;
	}
	t->of[kind].left = every - 1;
	return every;
}

/* Sets the slot's event and its size. */
static __always_inline void fill(void *ctx, struct task_struct *task, const struct emission *what,
				 struct capture_slot *slot, __u64 how)
{
	__u64 detail_sz, kstack_sz = 0, user_sz = 0;
	struct event *e = &slot->event;

	fill_header(e, what);
	if (what->owner)
		copy_owner(e, what->owner, what->cgroup_id);
	else
		copy_names(e, task, what->cgroup_id);
	if (cfg.spans)
		copy_span(e, task, what);
	detail_sz = copy_detail(e, what);
	if (how & CAPTURE_KERNEL)
		kstack_sz = copy_kstack(ctx, task, e, detail_sz, how);
	e->ustack_sz = 0;
	if ((how & CAPTURE_USER) && has_user_side(task))
		user_sz = copy_user(task, e, detail_sz + kstack_sz, how);
	else
		__builtin_memset(e->regs, 0, sizeof(e->regs));
	if (between_programs(task, e->ustack_sz))
		e->flags &= ~EVENT_F_USER;
	e->detail_sz = detail_sz;
	e->kstack_sz = kstack_sz;
	slot->event_sz = sizeof(*e) + detail_sz + kstack_sz + user_sz;
}

__hidden struct capture_slot *event__capture(void *ctx, struct task_struct *task,
					     const struct emission *what, __u64 how)
{
	struct capture_slot *slot;
	__u64 weight = 1;

	if (cfg.thins && !what->unpaced && !(weight = thin(what->kind)))
		return NULL;
	if (!what->unpaced && !paced(what->kind, what->time_ns)) {
		lose(what->kind, EVENT_LOST_RATE_LIMIT);
		return NULL;
	}
	slot = slot__take();
	if (!slot) {
		lose(what->kind, EVENT_LOST_NESTED);
		return NULL;
	}
	fill(ctx, task, what, slot, how);
	slot->event.weight *= weight;
	return slot;
}

/* The bound on the size is for the verifier: a slot has room for every event. */
__hidden int event__send(struct capture_slot *slot, __u64 time_ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	__u64 sz = slot->event_sz;
	int sent = 0;

	OPAQUE(sz);
	if (ring && sz <= EVENT_SZ_MAX(cfg.stack_sz))
		sent = !bpf_ringbuf_output(ring, &slot->event, sz, wakeup_flags(ring, time_ns));
	if (!sent)
		lose(slot->event.kind, EVENT_LOST_RING_FULL);
	slot__put(slot);
	return sent;
}

__hidden int event__drop(struct capture_slot *slot)
{
	slot__put(slot);
	return 0;
}
