// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * call: calls of chosen functions, from entry to return. The entry has the stack and the arguments;
 * the return ends the row. A call that does not return (an exception, longjmp(), the end of its
 * thread) is noticed when the thread's stack pointer is above its entry; its row has the reason.
 */
#include "bpf/anysite.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/taskstate.bpf.h"
#include "bpf/usdt_arg.bpf.h"

#define OPEN_MAX 64 /* calls of a thread; a power of two. The kernel follows as many. */
#define DROP_MAX 8  /* calls that did not return, at one event */

/* A call that has not returned. */
struct open_call {
	__u64 sp;	/* at its entry */
	__u64 begin_ns; /* unique among the calls of a thread */
	__u32 site;
	__u32 ended; /* it has returned, but a later one has not */
};

struct call_thread {
	__u64 depth;
	struct open_call open[OPEN_MAX];
};

TASK_STATE(call, thread, struct call_thread, 256) /* 400 KB */

/* Identifies the call in all threads: two CPUs can take the same time. */
static __always_inline __u64 join_of(__u64 begin_ns, const struct task_struct *task)
{
	return begin_ns ^ (__u64)(__u32)task->pid << 40;
}

/* How a call ended. */
struct call_end {
	__u64 begin_ns, time_ns, result;
	__u32 flags, reason;
};

static __noinline int send_end(void *ctx, const struct call_end *end)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!capturing(end->time_ns))
		return 0;
	return emit(ctx, task,
		    &(struct emission){ .time_ns = end->time_ns,
					.join = join_of(end->begin_ns, task),
					.amount = end->result,
					.kind = EVENT_CALL,
					.cpu = bpf_get_smp_processor_id(),
					.runnable_ns = ~0ULL,
					.reason = end->reason,
					.flags = EVENT_F_CLOSE | end->flags,
					.unpaced = true },
		    0);
}

static __always_inline void end_unreturned(void *ctx, __u64 begin_ns)
{
	send_end(ctx, &(struct call_end){ .begin_ns = begin_ns,
					  .time_ns = bpf_ktime_get_ns(),
					  .reason = EVENT_REASON_NO_RETURN });
}

/* Ends the innermost call if its entry was below `limit`. Returns false if it stays, or there is
 * none. */
static __always_inline bool drop_one(void *ctx, __u64 limit)
{
	struct call_thread *th = thread__find((void *)bpf_get_current_task_btf());
	const struct open_call *c;
	__u64 begin_ns, idx;

	if (!th || !th->depth)
		return false;
	idx = (th->depth - 1) % OPEN_MAX;
	c = &th->open[idx];
	if (!c->ended && c->sp >= limit)
		return false;
	begin_ns = c->ended ? 0 : c->begin_ns;
	th->depth = idx;
	if (begin_ns)
		end_unreturned(ctx, begin_ns);
	return true;
}

static long drop_next(__u64 i, void **ctx)
{
	return !drop_one(*ctx, ~0ULL);
}

static __always_inline void drop_below(void *ctx, __u64 limit)
{
	for (int i = 0; i < DROP_MAX; i++) {
		if (!drop_one(ctx, limit))
			break;
	}
}

static __always_inline void drop_all(void *ctx)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(OPEN_MAX, drop_next, &ctx, 0);
	else
		drop_below(ctx, ~0ULL);
}

/* ---- entry --------------------------------------------------------------------------------------
 */

/* A function that is called by a jump has the stack of its caller, which has not returned. The
 * kernel has replaced its return address already. */
static __always_inline bool is_jumped_to(struct task_struct *task, const struct pt_regs *ctx)
{
	return regs__return_address(ctx) == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

static __always_inline void remember(struct task_struct *task, const struct open_call *c)
{
	struct call_thread *th = thread__find(task);
	__u64 depth = th ? th->depth : OPEN_MAX;

	if (depth >= OPEN_MAX)
		return;
	th->open[depth % OPEN_MAX] = *c;
	th->depth = depth + 1;
}

/* Returns false if there is no room for one more. */
static __always_inline bool has_room(struct task_struct *task)
{
	struct call_thread *th = thread__create(task);

	if (th && th->depth < OPEN_MAX)
		return true;
	lose(EVENT_CALL, th ? EVENT_LOST_STATE_FULL : EVENT_LOST_NO_MEMORY);
	return false;
}

/* Not inline: in the frame of call__enter(), its row would leave too little of the BPF stack for
 * the functions that call__enter() calls before. */
static __noinline int begin_call(struct pt_regs *ctx, const struct open_call *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site__of(ctx);
	struct emission row = { .time_ns = c->begin_ns,
				.join = join_of(c->begin_ns, task),
				.kind = EVENT_CALL,
				.flags = EVENT_F_OPEN | EVENT_F_PENDING };
	struct capture_slot *slot;

	if (!site)
		return 0;
	slot = any_site__capture(ctx, task, site, &row);
	if (!slot)
		return 0;
	any_site__read(ctx, site, slot);
	return event__send(slot, c->begin_ns);
}

SEC("?uprobe")
int call__enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct any_site *site = any_site__of(ctx);
	struct open_call c = { .sp = ctx->sp,
			       .begin_ns = bpf_ktime_get_ns(),
			       .site = bpf_get_attach_cookie(ctx) };

	if (!site || !capturing(c.begin_ns) || !recorded(task))
		return 0;
	drop_below(ctx, c.sp + !is_jumped_to(task, ctx));
	if (any_site__passes(ctx, site) && has_room(task) && begin_call(ctx, &c))
		remember(task, &c);
	return 0;
}

/* ---- return -------------------------------------------------------------------------------------
 */

/* Marks the call as ended. Returns the time of its entry, or 0 if it is not known. */
static __always_inline __u64 take_call(struct call_thread *th, __u64 sp, __u32 site)
{
	for (__u64 i = 0; i < OPEN_MAX; i++) {
		__u64 idx = th->depth - 1 - i;
		struct open_call *c;

		OPAQUE(idx);
		if (idx >= OPEN_MAX)
			break;
		c = &th->open[idx];
		if (c->sp > sp)
			break;
		if (c->sp < sp || c->site != site || c->ended)
			continue;
		c->ended = true;
		return c->begin_ns;
	}
	return 0;
}

static __always_inline __u64 result_of(const void *ctx, const struct any_site *site)
{
	return site->result.sz ? read_arg(ctx, &site->result) : 0;
}

SEC("?uprobe")
int call__return(struct pt_regs *ctx)
{
	struct call_thread *th = thread__find((void *)bpf_get_current_task_btf());
	const struct any_site *site = any_site__of(ctx);
	__u64 sp = ctx->sp - ARCH_CALL_PUSH;
	struct call_end end = { .time_ns = bpf_ktime_get_ns() };

	if (!site || !th || !th->depth)
		return 0;
	end.begin_ns = take_call(th, sp, bpf_get_attach_cookie(ctx));
	drop_below(ctx, sp);
	if (!end.begin_ns)
		return 0;
	end.result = result_of(ctx, site);
	if (!any_site__passes_number(site, ANY_RESULT, end.result) ||
	    !any_site__passes_number(site, ANY_DURATION, end.time_ns - end.begin_ns))
		end.flags = EVENT_F_CANCEL;
	send_end(ctx, &end);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------
 */

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(call__exit, struct task_struct *task)
{
	drop_all(ctx);
	return 0;
}

/* Ends the calls of the program that the process ran before. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(call__exec, struct task_struct *task)
{
	drop_all(ctx);
	return 0;
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(call__free, struct task_struct *task)
{
	thread__forget(task);
	return 0;
}
