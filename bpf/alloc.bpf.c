// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alloc: allocations of programs, sampled by bytes, and the end of each sampled block. Both rows
 * have the block's `id`. The allocation's row is sent when the function is entered: the stack is
 * then exact, and it begins with the function. The address follows when the function returns.
 */
#include <linux/errno.h>

#include "bpf/allocations.h"
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/taskstate.bpf.h"

/* A call that has not returned for so long may have ended by an exception or a longjmp(). */
#define CALL_MAX_NS 100000000

/* The outermost allocation function that a thread is in. */
struct alloc_thread {
	/* at its entry; 0: it is in none, or in one that has no sample and calls no other */
	__u64 sp;
	__u64 ret; /* where it returns to; 0: unknown */
	__u64 cookie;
	__u64 begin_ns;
	__u64 result; /* address of the result (posix_memalign); 0: it is returned */
	__u64 id;     /* of its sample; 0: none */
	__u64 bytes;
	__u64 weight;
};

TASK_STATE(alloc, thread, struct alloc_thread, 1024) /* 100 KB */

/* State of a process, kept for its first thread. */
struct alloc_process {
	__s64 live;    /* its blocks in `alloc__blocks`, about */
	__u64 exec_vm; /* pages of code when it was reported by alloc__any__find */
};

TASK_STATE(alloc, process, struct alloc_process, 1024)

/* By address space, so that a child does not free what its parent has. */
struct block_key {
	__u64 mm, address;
};

struct block {
	__u64 id, begin_ns, bytes;
	__u32 weight, tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct block_key);
	__type(value, struct block);
	__uint(max_entries, ALLOC_BLOCK_MAX);
} alloc__blocks SEC(".maps");

/* Processes for which functions are attached: those that are attached for all ignore them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, ALLOC_OWN_MAX);
} alloc__own SEC(".maps");

volatile __u32 alloc_owns; /* there are such processes */

static __always_inline bool is_of_another(__u64 cookie)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return alloc_owns && !(cookie & ALLOC_COOKIE_OWN) &&
	       bpf_map_lookup_elem(&alloc__own, &tgid);
}

/* ---- blocks -------------------------------------------------------------------------------------
 */

static __always_inline __u64 new_id(__u64 now_ns)
{
	return now_ns * cfg.cpu_cnt + bpf_get_smp_processor_id();
}

/* Not inline: in 6.1, the stacks of all callers together have 512 bytes. */
static __noinline int send_free(void *ctx, const struct block *b, __u64 reason)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now_ns = bpf_ktime_get_ns();

	if (!capturing(now_ns))
		return 0;
	return emit(ctx, task,
		    &(struct emission){ .time_ns = now_ns,
					.duration_ns = now_ns - b->begin_ns,
					.amount = b->bytes,
					.id = b->id,
					.kind = EVENT_FREE,
					.cpu = bpf_get_smp_processor_id(),
					.weight = b->weight,
					.reason = reason,
					.runnable_ns = ~0ULL,
					.unpaced = true },
		    cfg.how[EVENT_FREE]);
}

static __always_inline void count_live(struct task_struct *task, __s64 change)
{
	struct alloc_process *p = process__create(task->group_leader);

	if (p)
		__sync_fetch_and_add(&p->live, change);
}

/* The block ends now, if it is a sampled one. The program that removes it has its row. */
static __always_inline int block__end(void *ctx, __u64 address, __u64 reason)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_key key = { .mm = (__u64)task->mm, .address = address };
	const struct block *known = bpf_map_lookup_elem(&alloc__blocks, &key);
	struct block b;

	if (!known)
		return 0;
	b = *known;
	if (bpf_map_delete_elem(&alloc__blocks, &key))
		return 0;
	count_live(task, -1);
	return send_free(ctx, &b, reason);
}

/* A block that has this address already was freed in a way that was not seen. A block for which
 * there is no room ends at once, and is counted: it must not look like a leak. */
static __always_inline void block__begin(void *ctx, struct task_struct *task, __u64 address,
					 const struct block *b)
{
	struct block_key key = { .mm = (__u64)task->mm, .address = address };

	block__end(ctx, address, EVENT_REASON_END_UNSEEN);
	if (!bpf_map_update_elem(&alloc__blocks, &key, b, BPF_ANY)) {
		count_live(task, 1);
		return;
	}
	lose(EVENT_ALLOC, EVENT_LOST_STATE_FULL);
	send_free(ctx, b, ENOSPC);
}

/* ---- calls --------------------------------------------------------------------------------------
 */

static __always_inline __u64 call_size(struct pt_regs *ctx, __u64 call)
{
	__u64 first = REGS_CALL_0(ctx), second = REGS_CALL_1(ctx);

	if (call == ALLOC_SIZE)
		return first;
	if (call == ALLOC_POSIX_ALIGN)
		return REGS_CALL_2(ctx);
	if (call ==
	    ALLOC_CALLOC) /* of a product with more than 64 bits, the function returns NULL */
		return (first | second) >> 32 ? 0 : first * second;
	return second;
}

/*
 * Returns true if the thread is inside another allocation function, which has the allocation.
 * Otherwise the call that it was in has ended unseen. That is certain if the same function is
 * called again with the same stack.
 */
static __always_inline bool is_nested(struct alloc_thread *th, __u64 sp, __u64 cookie, __u64 now_ns)
{
	if (!th->sp)
		return false;
	if (sp <= th->sp && (sp != th->sp || cookie != th->cookie) &&
	    now_ns - th->begin_ns < CALL_MAX_NS)
		return true;
	if (th->id)
		lose(EVENT_FREE, EVENT_LOST_UNMATCHED);
	th->sp = 0;
	return false;
}

/* Returns true if the row was sent. */
static __always_inline bool send_alloc(void *ctx, struct task_struct *task, const struct block *b)
{
	return emit(ctx, task,
		    &(struct emission){ .time_ns = b->begin_ns,
					.amount = b->bytes,
					.id = b->id,
					.kind = EVENT_ALLOC,
					.cpu = bpf_get_smp_processor_id(),
					.weight = b->weight,
					.runnable_ns = ~0ULL },
		    cfg.how[EVENT_ALLOC]);
}

static __always_inline void begin_call(struct pt_regs *ctx, struct alloc_thread *th, __u64 cookie,
				       const struct block *b)
{
	__u64 call = cookie & ALLOC_COOKIE_CALL;

	th->cookie = cookie;
	th->ret = regs__return_address(ctx);
	th->begin_ns = b->begin_ns;
	th->result = call == ALLOC_POSIX_ALIGN ? REGS_CALL_0(ctx) : 0;
	th->id = b->id;
	th->bytes = b->bytes;
	th->weight = b->weight;
	th->sp = ctx->sp;
}

/*
 * Returns true if the return of this call must be seen: it has a sample, or it may call other
 * allocation functions. Nearly all calls of malloc() end at the second `if`.
 */
static __always_inline bool enter(struct pt_regs *ctx, __u64 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 call = cookie & ALLOC_COOKIE_CALL, now_ns;
	struct alloc_sample sample;
	struct alloc_thread *th;
	struct block b = {};

	alloc_draw(&sample, call_size(ctx, call), cfg.param[EVENT_ALLOC], bpf_get_prandom_u32());
	if (!sample.chance && cookie & ALLOC_COOKIE_LEAF)
		return false;
	now_ns = bpf_ktime_get_ns();
	if (!capturing(now_ns) || !recorded(task))
		return false;
	th = thread__create(task);
	if (!th) {
		lose(EVENT_ALLOC, EVENT_LOST_NO_MEMORY);
		return false;
	}
	if (is_nested(th, ctx->sp, cookie, now_ns))
		return false;
	b.begin_ns = now_ns;
	if (sample.chance) {
		b.id = new_id(now_ns);
		b.bytes = sample.bytes;
		b.weight = sample.weight;
		if (!send_alloc(ctx, task, &b)) /* counted as lost */
			b.id = 0;
	}
	if (!b.id && cookie & ALLOC_COOKIE_LEAF)
		return false;
	th = thread__find(task);
	if (th)
		begin_call(ctx, th, cookie, &b);
	return th;
}

static __always_inline __u64 result_of(struct pt_regs *ctx, const struct alloc_thread *th)
{
	__u64 address = REGS_RESULT(ctx);

	if (!th->result)
		return address;
	if ((__u32)address || bpf_probe_read_user(&address, sizeof(address), (void *)th->result))
		return 0;
	return address;
}

static __always_inline bool is_return(struct pt_regs *ctx, const struct alloc_thread *th)
{
	return th && th->sp && ctx->sp == th->sp + ARCH_CALL_PUSH &&
	       (!th->ret || REGS_PC(ctx) == th->ret);
}

static __always_inline void leave(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct alloc_thread *th = thread__find(task);
	struct block b = {};
	__u64 address;

	if (!is_return(ctx, th))
		return;
	th->sp = 0;
	if (!th->id)
		return;
	b.id = th->id;
	b.begin_ns = th->begin_ns;
	b.bytes = th->bytes;
	b.weight = th->weight;
	b.tgid = task->tgid;
	address = result_of(ctx, th);
	if (address)
		block__begin(ctx, task, address, &b);
	else
		send_free(ctx, &b, ENOMEM);
}

/* ---- the probes ---------------------------------------------------------------------------------
 */

/* For the entry and the return of a call. The kernel leaves out the return if the program answers
 * the entry with 1 (Linux 6.13). */
SEC("?uprobe/session")
int alloc__session__call(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u64 ip = REGS_PC(ctx);

	if (is_of_another(cookie))
		return 1;
	/* code returns to a place with the same address in its page by chance only */
	if (((cookie >> ALLOC_COOKIE_PAGE) & ALLOC_PAGE_MASK) != (ip & ALLOC_PAGE_MASK) ||
	    is_return(ctx, thread__find(bpf_get_current_task_btf()))) {
		leave(ctx);
		return 0;
	}
	return !enter(ctx, cookie);
}

SEC("?uprobe")
int alloc__pair__enter(struct pt_regs *ctx)
{
	enter(ctx, bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("?uprobe")
int alloc__pair__return(struct pt_regs *ctx)
{
	leave(ctx);
	return 0;
}

/* Also attached to realloc(), which ends the old block. */
SEC("?uprobe")
int alloc__any__free(struct pt_regs *ctx)
{
	if (REGS_CALL_0(ctx) && !is_of_another(bpf_get_attach_cookie(ctx)))
		block__end(ctx, REGS_CALL_0(ctx), 0);
	return 0;
}

/* ---- processes ----------------------------------------------------------------------------------
 */

/* The blocks of which address spaces are to be forgotten. */
struct ended {
	__u64 tgid, mm; /* the process, and the address space that it has now */
};

static long forget_if_ended(void *map, struct block_key *key, struct block *b,
			    const struct ended *ended)
{
	struct block_key copy = *key;

	if (b->tgid == ended->tgid && copy.mm != ended->mm)
		bpf_map_delete_elem(map, &copy);
	return 0;
}

/* Takes some milliseconds if many blocks are live. */
static __always_inline void end_process(struct task_struct *task, __u64 mm)
{
	struct alloc_process *p = process__find(task->group_leader);
	struct ended ended = { .tgid = task->tgid, .mm = mm };

	if (!p || p->live <= 0)
		return;
	p->live = 0;
	bpf_for_each_map_elem(&alloc__blocks, forget_if_ended, &ended, 0);
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(alloc__any__process_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (task->signal->live.counter)
		return 0;
	end_process(task, 0);
	if (alloc_owns)
		bpf_map_delete_elem(&alloc__own, &tgid);
	return 0;
}

/* Execs and forks of recorded processes: user space then looks for their code. */
__u64 alloc_execs;

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(alloc__any__process_exec, struct task_struct *task)
{
	struct alloc_thread *th = thread__find(task);

	if (recorded(task))
		__sync_fetch_and_add(&alloc_execs, 1);
	if (th)
		th->sp = 0;
	end_process(task, (__u64)task->mm);
	return 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(alloc__any__process_fork, struct task_struct *parent, struct task_struct *child)
{
	if (parent->tgid != child->tgid && recorded(parent))
		__sync_fetch_and_add(&alloc_execs, 1);
	return 0;
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(alloc__any__process_free, struct task_struct *task)
{
	thread__forget(task);
	process__forget(task);
	return 0;
}

/*
 * Writes the id of each recorded process that has mapped code since it was last reported. A process
 * of which a thread holds the lock of the address space is reported later: its mappings cannot be
 * read now.
 */
SEC("?iter/task")
int alloc__any__find(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct mm_struct *mm = task ? task->mm : NULL;
	struct alloc_process *p;
	__u64 exec_vm;
	__s32 tgid;

	if (!mm || (task->pid != task->tgid && !cfg.tid_cnt) || !recorded(task))
		return 0;
	if (bpf_core_field_exists(mm->mmap_lock.count) && mm->mmap_lock.count.counter)
		return 0;
	exec_vm = mm->exec_vm;
	p = process__create(task->group_leader);
	if (!p || p->exec_vm == exec_vm)
		return 0;
	p->exec_vm = exec_vm;
	tgid = task->tgid;
	bpf_seq_write(ctx->meta->seq, &tgid, sizeof(tgid));
	return 0;
}
