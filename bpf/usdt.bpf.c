// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usdt: the spans of programs with the USDT probes of the provider stacks_tracing. A thread enters
 * and leaves spans in a nested way. Each span has one close, on any thread.
 */
#include <linux/errno.h>

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/taskstate.bpf.h"
#include "bpf/usdt_arg.bpf.h"

#define EVICT_TRIES 8

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct usdt_site);
	__uint(max_entries, 1); /* set before loading */
} usdt_sites SEC(".maps");

static __always_inline const struct usdt_site *site_of(__u64 cookie)
{
	__u32 idx = cookie;

	return bpf_map_lookup_elem(&usdt_sites, &idx);
}

/* ---- spans of a process -----------------------------------------------------------------------
 */

/* State of a process, kept for its first thread so that it ends with the process. */
struct process {
	__u64 number; /* unique, from 1 on; 0: not assigned yet */
	__s64 live;   /* its spans in `spans` */
};

TASK_STATE(usdt, process, struct process, 1024) /* 100 KB */

SEC("?tp_btf/sched_process_free")
int BPF_PROG(usdt__free, struct task_struct *task)
{
	span__forget(task);
	process__forget(task);
	return 0;
}

__u64 process_cnt;

struct span_key {
	__u64 span_id;
	__u64 process; /* its number */
};

struct span {
	struct open_span last; /* except that enter_ns is that of the first enter */
	__u64 place;	       /* index in `places` */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct span_key);
	__type(value, struct span);
	__uint(max_entries, 1); /* USDT_SPAN_MAX, set before loading */
} spans SEC(".maps");

/* The keys of `spans`, in the order of their creation. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct span_key);
	__uint(max_entries, 1); /* USDT_SPAN_MAX, set before loading */
} places SEC(".maps");

struct region {
	__u64 hand; /* the place to look at next */
	__u64 used[USDT_REGION_BITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct region);
	__uint(max_entries, USDT_REGIONS);
} regions SEC(".maps");

static __always_inline struct process *process_of(struct task_struct *task)
{
	struct process *p = process__create(task->group_leader);

	if (p && !p->number)
		__sync_val_compare_and_swap(&p->number, 0,
					    __sync_fetch_and_add(&process_cnt, 1) + 1);
	return p;
}

static __always_inline __u32 lowest_bit(__u64 v)
{
	return bits_in((v & -v) - 1);
}

/* Takes the lowest free place in the next word that has one. Returns USDT_REGION_SZ if all are
 * taken. */
static __always_inline __u32 region__take(struct region *r)
{
	__u32 word = r->hand / 64;

	for (__u32 i = 0; i < USDT_REGION_BITS; i++, word++) {
		__u64 *used = &r->used[word % USDT_REGION_BITS], bit;
		__u32 at;

		if (!~*used)
			continue;
		at = lowest_bit(~*used);
		bit = 1ULL << at;
		if (__sync_fetch_and_or(used, bit) & bit)
			continue; /* another CPU was faster */
		at += word % USDT_REGION_BITS * 64;
		r->hand = at + 1;
		return at;
	}
	return USDT_REGION_SZ;
}

/* Forgets the span at the hand, which is the oldest one if none has been closed. The program that
 * removes a span from `spans` owns its place. */
static __always_inline __u32 region__evict(struct region *r, __u32 base)
{
	for (int i = 0; i < EVICT_TRIES; i++) {
		__u32 at = __sync_fetch_and_add(&r->hand, 1) % USDT_REGION_SZ, idx = base + at;
		struct span_key *key = bpf_map_lookup_elem(&places, &idx), old;

		if (!key)
			break;
		old = *key;
		if (!bpf_map_delete_elem(&spans, &old)) {
			lose(EVENT_TRACE_CLOSE, EVENT_LOST_STATE_FULL);
			return at;
		}
	}
	return USDT_REGION_SZ;
}

static __always_inline void release(__u32 place)
{
	__u32 idx = place / USDT_REGION_SZ, at = place % USDT_REGION_SZ;
	struct region *r = bpf_map_lookup_elem(&regions, &idx);

	if (r)
		__sync_fetch_and_and(&r->used[at / 64 % USDT_REGION_BITS], ~(1ULL << at % 64));
}

static __always_inline bool add_at(struct process *p, const struct span_key *key,
				   const struct span *s)
{
	__u32 place = s->place;
	struct span_key *named = bpf_map_lookup_elem(&places, &place);
	long err;

	if (!named)
		return false;
	*named = *key;
	err = bpf_map_update_elem(&spans, key, s, BPF_NOEXIST);
	if (!err)
		__sync_fetch_and_add(&p->live, 1);
	else
		release(place);
	return !err || err == -EEXIST;
}

static __always_inline void add(struct process *p, const struct span_key *key, struct span *s)
{
	__u32 idx = (p->number - 1) % USDT_REGIONS, base = idx * USDT_REGION_SZ, at;
	struct region *r = bpf_map_lookup_elem(&regions, &idx);

	if (!r)
		return;
	at = region__take(r);
	if (at == USDT_REGION_SZ)
		at = region__evict(r, base);
	s->place = base + at;
	if (at == USDT_REGION_SZ || !add_at(p, key, s))
		lose(EVENT_TRACE_CLOSE, EVENT_LOST_STATE_FULL);
}

/* The first enter creates the span. Later ones may add information. */
static __always_inline void remember(struct task_struct *task, const struct open_span *s)
{
	struct process *p = process_of(task);
	struct span_key key = { .span_id = s->span_id };
	struct span new = { .last = *s }, *known;

	if (!p) {
		lose(EVENT_TRACE_CLOSE, EVENT_LOST_NO_MEMORY);
		return;
	}
	key.process = p->number;
	known = bpf_map_lookup_elem(&spans, &key);
	if (known) {
		known->last.id = s->id;
		known->last.amount = s->amount;
	} else {
		add(p, &key, &new);
	}
}

/* Returns false if the span was not known. If another thread changes the copy, that thread has
 * closed the span itself. */
static __always_inline bool forget(struct task_struct *task, __u64 span_id, struct open_span *s)
{
	struct process *p = process__find(task->group_leader);
	struct span_key key = { .span_id = span_id };
	struct span *known;
	__u32 place;

	if (!p)
		return false;
	key.process = p->number;
	known = bpf_map_lookup_elem(&spans, &key);
	if (!known)
		return false;
	*s = known->last;
	place = known->place;
	if (bpf_map_delete_elem(&spans, &key))
		return false;
	__sync_fetch_and_add(&p->live, -1);
	release(place);
	return true;
}

/* ---- the probes -------------------------------------------------------------------------------
 */

static __always_inline bool over(__u64 now_ns)
{
	__u64 end = end_ns;

	return end && now_ns > end;
}

SEC("?uprobe")
int usdt__enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct usdt_site *site = site_of(bpf_get_attach_cookie(ctx));
	struct open_span s = {};

	if (!site || over(bpf_ktime_get_ns()) || !recorded(task))
		return 0;
	s.span_id = read_arg(ctx, &site->args[0]);
	if (!s.span_id)
		return 0;
	s.parent_id = read_arg(ctx, &site->args[1]);
	s.id = read_arg(ctx, &site->args[2]);
	s.amount = read_arg(ctx, &site->args[3]);
	read_name(s.name, read_arg(ctx, &site->args[4]));
	span__enter(task, &s);
	remember(task, &s);
	return 0;
}

static __always_inline void send_row(void *ctx, struct task_struct *task,
				     const struct emission *row, bool user)
{
	if (!capturing(row->time_ns))
		return;
	if (user)
		emit(ctx, task, row, CAPTURE_USER);
	else
		emit(ctx, task, row, 0);
}

static __always_inline struct emission row_of(const struct open_span *s, __u64 now_ns, __u32 kind)
{
	return (struct emission){ .time_ns = now_ns,
				  .duration_ns = now_ns - s->enter_ns,
				  .amount = s->amount,
				  .kind = kind,
				  .cpu = bpf_get_smp_processor_id(),
				  .runnable_ns = ~0ULL,
				  .span = s };
}

static __always_inline void leave(void *ctx, __u64 cookie, bool user)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct usdt_site *site = site_of(cookie);
	__u64 now_ns = bpf_ktime_get_ns(), span_id;
	struct open_span s;

	if (!site || over(now_ns) || !recorded(task))
		return;
	span_id = read_arg(ctx, &site->args[0]);
	if (span_id && span__leave(task, span_id, &s)) {
		struct emission row = row_of(&s, now_ns, EVENT_TRACE_EXIT);

		send_row(ctx, task, &row, user);
	}
}

SEC("?uprobe")
int usdt__exit(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	leave(ctx, cookie, cookie & USDT_COOKIE_USER);
	return 0;
}

SEC("?uprobe")
int usdt__exit_stack(struct pt_regs *ctx)
{
	leave(ctx, bpf_get_attach_cookie(ctx), true);
	return 0;
}

/* A span that was never entered, or not since the recording began, has no row. */
SEC("?uprobe")
int usdt__close(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx), now_ns = bpf_ktime_get_ns(), span_id;
	const struct usdt_site *site = site_of(cookie);
	struct open_span s;

	if (!site || over(now_ns) || !recorded(task))
		return 0;
	span_id = read_arg(ctx, &site->args[0]);
	if (forget(task, span_id, &s)) {
		struct emission row = row_of(&s, now_ns, EVENT_TRACE_CLOSE);

		send_row(ctx, task, &row, cookie & USDT_COOKIE_USER);
	}
	span__close(task, span_id);
	return 0;
}

/* ---- processes that end -----------------------------------------------------------------------
 */

static long forget_if_of(void *map, struct span_key *key, struct span *s, const __u64 *process)
{
	struct span_key copy = *key;
	__u64 place = s->place;

	if (copy.process == *process && !bpf_map_delete_elem(&spans, &copy))
		release(place);
	return 0;
}

/* The process has left spans open. This is rare and takes a fraction of a millisecond. */
static __always_inline void end_process(struct task_struct *task)
{
	struct process *p = process__find(task->group_leader);
	__u64 number;

	if (!p)
		return;
	number = p->number;
	if (p->live > 0)
		bpf_for_each_map_elem(&spans, forget_if_of, &number, 0);
	p->live = 0;
	p->number = 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(usdt__process_exit, struct task_struct *task)
{
	if (!task->signal->live.counter)
		end_process(task);
	return 0;
}

/* The thread that called exec is now the only one, and it is in no span of the new program. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(usdt__process_exec, struct task_struct *task)
{
	span__leave_all(task);
	end_process(task);
	return 0;
}
