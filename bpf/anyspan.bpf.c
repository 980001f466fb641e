// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * span: the time from one chosen place to another. Without a key, a thread is in the span: it
 * labels the events of the thread until its end. With a key, the end may be on any thread of the
 * process, and no thread is in it.
 */
#include "bpf/anysite.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/taskstate.bpf.h"
#include "bpf/usdt_arg.bpf.h"

#define PAIR_MAX  32 /* choices: PROBE_CHOICE_MAX */
#define KEYED_MAX 16384

/* The spans that a thread is in, by choice. 0: none. */
struct thread_pairs {
	__u64 span_ids[PAIR_MAX];
};

TASK_STATE(span, pairs, struct thread_pairs, 1024) /* 270 KB */

struct keyed {
	__u64 key;
	__u32 tgid, choice;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct keyed);
	__type(value, __u64); /* span_id */
	__uint(max_entries, KEYED_MAX);
} span__keyed SEC(".maps");

/* The highest bit is set: few programs choose such ids for spans of their own. */
static __always_inline __u64 new_span_id(__u64 now_ns)
{
	return (now_ns * cfg.cpu_cnt + bpf_get_smp_processor_id()) | 1ULL << 63;
}

/* ---- end ----------------------------------------------------------------------------------------
 */

static __noinline int close_span(void *ctx, __u64 span_id, __u64 reason)
{
	struct emission row = { .time_ns = bpf_ktime_get_ns(),
				.kind = EVENT_TRACE_CLOSE,
				.cpu = bpf_get_smp_processor_id(),
				.runnable_ns = ~0ULL,
				.join = span_id,
				.reason = reason,
				.flags = EVENT_F_CLOSE,
				.unpaced = true };

	if (!capturing(row.time_ns))
		return 0;
	return emit(ctx, bpf_get_current_task_btf(), &row, 0);
}

/* The row of the thread's stay in the span. */
static __noinline int send_exit(void *ctx, struct task_struct *task, const struct any_site *site,
				const struct open_span *s)
{
	struct emission row = { .time_ns = bpf_ktime_get_ns(),
				.kind = EVENT_TRACE_EXIT,
				.span = s };
	struct capture_slot *slot;

	row.duration_ns = row.time_ns - s->enter_ns;
	if (!capturing(row.time_ns))
		return 0;
	slot = any_site__capture(ctx, task, site, &row);
	return slot ? event__send(slot, row.time_ns) : 0;
}

/* Returns the span of the choice, and forgets it; 0: there is none. */
static __always_inline __u64 pairs__take(struct task_struct *task, __u64 choice)
{
	struct thread_pairs *p = pairs__find(task);
	__u64 span_id;

	OPAQUE(choice);
	if (!p || choice >= PAIR_MAX)
		return 0;
	span_id = p->span_ids[choice];
	p->span_ids[choice] = 0;
	return span_id;
}

static __always_inline void end_of_thread(void *ctx, const struct any_site *site)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 span_id = pairs__take(task, site->blank.choice);
	struct open_span s;

	if (!span_id)
		return;
	if (span__leave(task, span_id, &s))
		send_exit(ctx, task, site, &s);
	close_span(ctx, span_id, 0);
}

static __always_inline struct keyed key_of(const void *ctx, const struct any_site *site)
{
	return (struct keyed){ .key = read_arg(ctx, &site->key),
			       .tgid = bpf_get_current_pid_tgid() >> 32,
			       .choice = site->blank.choice };
}

static __always_inline void end_of_key(void *ctx, const struct any_site *site, __u64 reason)
{
	struct keyed key = key_of(ctx, site);
	const __u64 *known = bpf_map_lookup_elem(&span__keyed, &key);
	__u64 span_id;

	if (!known)
		return;
	span_id = *known;
	if (!bpf_map_delete_elem(&span__keyed, &key))
		close_span(ctx, span_id, reason);
}

SEC("?uprobe")
int span__end(struct pt_regs *ctx)
{
	const struct any_site *site = any_site__of(ctx);

	if (!site || !any_site__passes(ctx, site))
		return 0;
	if (site->key.sz)
		end_of_key(ctx, site, 0);
	else
		end_of_thread(ctx, site);
	return 0;
}

/* ---- begin --------------------------------------------------------------------------------------
 */

static __always_inline void fill_span(const void *ctx, const struct any_site *site,
				      struct task_struct *task, struct open_span *s)
{
	const struct open_span *outer = span__innermost(task);
	__u32 arg = site->label_arg;

	s->parent_id = outer ? outer->span_id : 0;
	if (arg < EVENT_ARG_CNT)
		read_name(s->name, read_arg(ctx, &site->args[arg].value));
	else
		__builtin_memcpy(s->name, site->label, sizeof(s->name));
}

/* A span of this choice that is still open has ended unseen. */
static __always_inline void end_old(void *ctx, const struct any_site *site)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 old;

	if (site->key.sz) {
		end_of_key(ctx, site, EVENT_REASON_END_UNSEEN);
		return;
	}
	old = pairs__take(task, site->blank.choice);
	if (!old)
		return;
	span__close(task, old);
	close_span(ctx, old, EVENT_REASON_END_UNSEEN);
}

/* Returns false if there is no room for the span. */
static __always_inline bool enter_in_thread(const struct any_site *site, struct open_span *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_pairs *p = pairs__create(task);
	__u64 choice = site->blank.choice;

	if (!p) {
		lose(EVENT_TRACE_CLOSE, EVENT_LOST_NO_MEMORY);
		return false;
	}
	OPAQUE(choice);
	if (choice >= PAIR_MAX)
		return false;
	p->span_ids[choice] = s->span_id;
	span__enter(task, s);
	return true;
}

static __always_inline bool remember_key(const void *ctx, const struct any_site *site,
					 const struct open_span *s)
{
	struct keyed key = key_of(ctx, site);

	if (!bpf_map_update_elem(&span__keyed, &key, &s->span_id, BPF_ANY))
		return true;
	lose(EVENT_TRACE_CLOSE, EVENT_LOST_STATE_FULL);
	return false;
}

/* Not inline, because its row needs the stack that span__begin() needs before. */
static __noinline int send_begin(struct pt_regs *ctx, const struct open_span *s)
{
	const struct any_site *site = any_site__of(ctx);
	struct emission row = { .time_ns = s->enter_ns,
				.join = s->span_id,
				.kind = EVENT_TRACE_CLOSE,
				.flags = EVENT_F_OPEN | EVENT_F_PENDING,
				.span = s };
	struct capture_slot *slot;

	if (!site)
		return 0;
	slot = any_site__capture(ctx, bpf_get_current_task_btf(), site, &row);
	if (!slot)
		return 0;
	any_site__read(ctx, site, slot);
	return event__send(slot, row.time_ns);
}

SEC("?uprobe")
int span__begin(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site__of(ctx);
	struct open_span s = { .enter_ns = bpf_ktime_get_ns() };

	if (!site || !capturing(s.enter_ns) || !recorded(task) || !any_site__passes(ctx, site))
		return 0;
	end_old(ctx, site);
	s.span_id = new_span_id(s.enter_ns);
	fill_span(ctx, site, task, &s);
	if (site->key.sz ? remember_key(ctx, site, &s) : enter_in_thread(site, &s))
		send_begin(ctx, &s);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------
 */

static __always_inline void end_all(void *ctx, struct task_struct *task)
{
	if (!pairs__find(task))
		return;
	for (__u64 choice = 0; choice < PAIR_MAX; choice++) {
		__u64 span_id = pairs__take(task, choice);

		if (span_id)
			close_span(ctx, span_id, EVENT_REASON_END_UNSEEN);
	}
	span__leave_all(task);
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(span__process_exit, struct task_struct *task)
{
	end_all(ctx, task);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(span__process_exec, struct task_struct *task)
{
	end_all(ctx, task);
	return 0;
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(span__process_free, struct task_struct *task)
{
	span__forget(task);
	pairs__forget(task);
	return 0;
}
