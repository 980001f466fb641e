// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * switch: each finished slice of a thread on a CPU, and where the thread waits after it.
 *
 * A slice that gets no row, because `thinning` leaves it out or the row is lost, is joined with the
 * thread's next slice, as a minimum joins slices (src/collector/slice.h): the next row covers both
 * and the time off the CPU between them. So sums of time stay exact.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/taskstate.bpf.h"

/* include/linux/sched.h; these are macros in the kernel, so BTF does not have them */
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED	     0x0004
#define TASK_TRACED	     0x0008
#define TASK_PARKED	     0x0040
#define TASK_DEAD	     0x0080
#define TASK_NOLOAD	     0x0400
#define TASK_RTLOCK_WAIT     0x1000
#define PF_KTHREAD	     0x00200000

#define UNKNOWN (~0ULL)

#define SECOND_NS 1000000000ULL
/* `thinning` leaves a thread at least about this many rows a second, and all of a thread that has
 * no more. */
#define ROWS_KEPT 16

/* State of each thread, recorded or not. Nothing changes after end_ns. */
struct thread {
	__u64 in_ns;	   /* since when it has been on a CPU; 0: it is not on one, or not known */
	__u64 out_ns;	   /* when it last left a CPU */
	__u64 runnable_ns; /* time that it waited before that; UNKNOWN */
	__u64 ready_ns;	   /* since when it has waited for a CPU; 0: it does not, or not known */
	/* the thread's begin has been recorded: its first row has been made, or is not needed */
	__u32 seen;
	/* enum event_state in which it is off the CPU, or was before the beginning; DEAD after its
	 * end */
	__u32 state;
	/* the slices without a row, up to the last time that it left */
	struct {
		__u64 begin_ns;	   /* of the first one; 0: there is none */
		__u64 gaps_ns;	   /* time off the CPU between them */
		__u64 runnable_ns; /* time that it waited before them, as far as known */
		__u64 switches;	   /* task__switches() when it left */
	} joined;
	/* how often it leaves; counted only if cfg.thins */
	struct {
		__u64 since_ns; /* the current second */
		__u32 cnt;	/* times in this second */
		__u32 rate;	/* times in the second before it */
	} leaves;
};

TASK_STATE(switch, thread, struct thread, 8192) /* 1 MB */

/* The last switch of this CPU that the program has seen. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} switched SEC(".maps");

/* Returns how the thread leaves the CPU, or has left it. A kernel thread waits for work in
 * TASK_IDLE, or in TASK_INTERRUPTIBLE as all did before TASK_IDLE existed (80ed87c8a9ca). */
static __always_inline __u32 state_of(const struct task_struct *task, __u32 task_state)
{
	if (task_state & TASK_DEAD)
		return EVENT_STATE_DEAD;
	if (task_state & TASK_TRACED)
		return EVENT_STATE_TRACED;
	if (task_state & TASK_STOPPED)
		return EVENT_STATE_STOPPED;
	if (task_state & TASK_PARKED)
		return EVENT_STATE_PARKED;
	if (task_state & TASK_UNINTERRUPTIBLE)
		return task_state & TASK_NOLOAD ? EVENT_STATE_IDLE : EVENT_STATE_DISK_SLEEP;
	if (task_state & TASK_RTLOCK_WAIT)
		return EVENT_STATE_DISK_SLEEP;
	if (!task_state)
		return EVENT_STATE_PREEMPTED;
	return task->flags & PF_KTHREAD ? EVENT_STATE_IDLE : EVENT_STATE_SLEEPING;
}

static __always_inline __u32 task__cpu(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return ((const struct task_struct___cpu *)task)->cpu;
}

/* Returns the row of a thread that is off the CPU at `time_ns`. Its length is 0. */
static __always_inline struct emission row_at(const struct task_struct *task, __u64 time_ns,
					      __u32 state)
{
	return (struct emission){ .time_ns = time_ns,
				  .kind = EVENT_SWITCH,
				  .state = state,
				  .cpu = task__cpu(task),
				  .runnable_ns = UNKNOWN };
}

static __always_inline __u64 later(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/*
 * Returns since when a leaving thread has been on this CPU. The kernel may skip a program (if it
 * would interrupt itself, or for tasks that it hides), so the switch to a thread may go unseen.
 * Then the slice begins at the earliest possible time.
 */
static __always_inline __u64 slice_start(struct thread *th)
{
	__u64 *switched_ns = bpf_map_lookup_elem(&switched, &(__u32){ 0 });
	__u64 last_ns = switched_ns ? later(*switched_ns, begin_ns) : begin_ns;

	return th->in_ns ? th->in_ns : later(last_ns, later(th->out_ns, th->ready_ns));
}

/* ---- slices without a row of their own ----------------------------------------------------------
 */

static __always_inline __u64 known_sum(__u64 a, __u64 b)
{
	if (a == UNKNOWN)
		return b;
	return b == UNKNOWN ? a : a + b;
}

/* Both counters grow before the tracepoint of the switch. */
static __always_inline __u64 task__switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Makes the row cover the thread's slices without one, too. */
static __always_inline void cover_joined(struct thread *th, struct emission *row)
{
	__u64 start_ns = row->time_ns - row->duration_ns;

	if (!th->joined.begin_ns)
		return;
	row->gaps_ns = th->joined.gaps_ns + (start_ns > th->out_ns ? start_ns - th->out_ns : 0);
	row->runnable_ns = known_sum(row->runnable_ns, th->joined.runnable_ns);
	row->duration_ns = row->time_ns - th->joined.begin_ns;
}

/* Keeps what the row covers for the thread's next one. */
static __always_inline void join_next(struct thread *th, const struct task_struct *task,
				      const struct emission *row)
{
	th->joined.begin_ns = row->time_ns - row->duration_ns;
	th->joined.gaps_ns = row->gaps_ns;
	th->joined.runnable_ns = row->runnable_ns;
	th->joined.switches = task__switches(task);
}

/*
 * Returns true if `thinning` leaves out the thread's row. Within a second, each row of a thread is
 * left out with the same probability, so that the rows that remain show what the thread waits for
 * in the right proportions. The rate of the previous second decides, because it is not known yet
 * how long the thread will be away.
 */
static __always_inline bool left_out(struct thread *th, __u64 now_ns)
{
	__u64 every = thinning[EVENT_SWITCH], most, since_ns = now_ns - th->leaves.since_ns;

	if (since_ns >= SECOND_NS) {
		th->leaves.rate = since_ns < 2 * SECOND_NS ? th->leaves.cnt : 0;
		th->leaves.cnt = 0;
		th->leaves.since_ns = now_ns;
	}
	th->leaves.cnt++;
	most = th->leaves.rate / ROWS_KEPT;
	if (every > most)
		every = most;
	return every > 1 && bpf_get_prandom_u32() % every;
}

/* ---- switches ----------------------------------------------------------------------------------
 */

static __always_inline void leave(void *ctx, struct task_struct *task, __u32 state, __u64 now_ns)
{
	struct thread *th = thread__find(task);
	struct emission row = row_at(task, now_ns, state);

	if (!th && !recorded(task))
		return;
	if (!th) /* switch__newtask() was skipped when it was created, and so was its first switch
		  */
		th = thread__reserve(task, &(struct thread){ .seen = 1 });
	if (!th) {
		lose(EVENT_SWITCH, EVENT_LOST_NO_MEMORY);
		return;
	}
	row.duration_ns = now_ns - slice_start(th);
	if (th->in_ns)
		row.runnable_ns = th->runnable_ns;
	if (!th->seen && !__sync_lock_test_and_set(&th->seen, 1))
		row.duration_ns = now_ns - begin_ns; /* it was running at the beginning */
	cover_joined(th, &row);
	th->joined.begin_ns = 0;
	th->in_ns = 0;
	th->out_ns = now_ns;
	th->ready_ns = state == EVENT_STATE_PREEMPTED ? now_ns : 0;
	th->state = state;
	if (!recorded(task))
		return;
	if ((cfg.thins && state != EVENT_STATE_DEAD && left_out(th, now_ns)) ||
	    !emit(ctx, task, &row, cfg.how[EVENT_SWITCH]))
		join_next(th, task, &row);
}

/* Sends the row, unless the first row of the thread has been made meanwhile. */
static __always_inline int send_first(struct capture_slot *slot, struct task_struct *task)
{
	struct thread *th = thread__find(task);

	if (!th || __sync_lock_test_and_set(&th->seen, 1))
		return event__drop(slot);
	return event__send(slot, begin_ns);
}

/* Sends the first row of a thread that has waited since the beginning, and that runs before the
 * iterator below reaches it. */
static __always_inline void begin_late(void *ctx, struct task_struct *task, struct thread *th)
{
	struct emission row = row_at(task, begin_ns, th->state);
	struct capture_slot *slot;

	if (!th->ready_ns)
		row.state = EVENT_STATE_PREEMPTED; /* not woken since: it waited for a CPU */
	row.unpaced = true;
	if (!recorded(task))
		return;
	slot = event__capture(ctx, task, &row, cfg.how[EVENT_SWITCH] | CAPTURE_OTHER);
	if (slot)
		send_first(slot, task);
}

static __always_inline void enter(void *ctx, struct task_struct *task, __u64 now_ns)
{
	struct thread *th = thread__find(task);

	if (!th)
		return;
	if (!th->seen) {
		begin_late(ctx, task, th);
		th = thread__find(task);
		if (!th)
			return;
		th->seen = 1;
	}
	th->runnable_ns = th->ready_ns ? now_ns - th->ready_ns : UNKNOWN;
	th->ready_ns = 0;
	th->in_ns = now_ns;
}

/*
 * The fourth argument of the tracepoint is read only if it exists. BPF_PROG() would read it at the
 * start, and kernels without it refuse that.
 */
static __always_inline __u32 prev_state(const volatile __u64 *args, const struct task_struct *prev)
{
	return cfg.has_prev_state ? args[3] : prev->__state;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(switch__switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now_ns = bpf_ktime_get_ns(), *switched_ns;
	__u32 state;

	if (!capturing(now_ns))
		return 0;
	if (prev->pid) {
		state = state_of(prev, prev_state((const volatile __u64 *)ctx, prev));
		leave(ctx, prev, preempt ? EVENT_STATE_PREEMPTED : state, now_ns);
	}
	if (next->pid)
		enter(ctx, next, now_ns);
	switched_ns = bpf_map_lookup_elem(&switched, &(__u32){ 0 });
	if (switched_ns)
		*switched_ns = now_ns;
	return 0;
}

/*
 * sched_wakeup, not sched_waking: it runs when the thread is in a run queue, always after the
 * switch in which it left. A thread that is woken before it has left is still on its CPU; leave()
 * then overwrites what is noted here.
 */
SEC("?tp_btf/sched_wakeup")
int BPF_PROG(switch__wakeup, struct task_struct *task)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct thread *th;

	if (!capturing(now_ns))
		return 0;
	th = thread__find(task);
	if (th && !th->ready_ns)
		th->ready_ns = now_ns;
	return 0;
}

/*
 * Every thread gets its state before it runs for the first time, whether it is recorded or not.
 * Allocation is safe here (in a switch, the run queue is locked).
 */
SEC("?tp_btf/task_newtask")
int BPF_PROG(switch__newtask, struct task_struct *task)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct thread *th = thread__create(task);

	if (th && capturing(now_ns)) {
		th->ready_ns = now_ns;
		th->seen = 1;
	}
	return 0;
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(switch__free, struct task_struct *task)
{
	thread__forget(task);
	return 0;
}

/* ---- the beginning and the end -----------------------------------------------------------------
 */

/* Runs before the beginning. Allocates the thread's state, and notes how the thread is off the CPU,
 * in case it never switches. */
static __always_inline void prepare(struct task_struct *task)
{
	struct thread *th = thread__create(task);

	if (th)
		th->state = state_of(task, task->__state);
}

/*
 * Sends the first row of a thread that has been off the CPU since before the beginning: it has not
 * been seen and is on no CPU. A thread on a CPU is marked as seen before it leaves, and a thread
 * that comes back is marked before it does. If it comes back while its stack is copied, the mark is
 * set when the copy is complete, and the copy is dropped.
 */
static __always_inline int begin_row(struct bpf_iter__task *ctx, struct task_struct *task,
				     __u64 how)
{
	struct thread *th = thread__find(task);
	struct emission row = row_at(task, begin_ns, state_of(task, task->__state));
	struct capture_slot *slot;

	if (!th || th->seen || task->on_cpu || task->exit_state)
		return 0;
	row.unpaced = true;
	if (!recorded(task)) {
		__sync_lock_test_and_set(&th->seen, 1);
		return 0;
	}
	slot = event__capture(ctx, task, &row, how);
	return slot ? send_first(slot, task) : 0;
}

static __always_inline bool has_waited_since(const struct task_struct *task, __u64 switches)
{
	return !task->on_cpu && task__switches(task) == switches;
}

/* Returns true for the visit that sends the thread's rows of the end: another visit may have sent
 * them meanwhile. */
static __always_inline bool is_first_visit(struct thread *th)
{
	return __sync_lock_test_and_set(&th->state, EVENT_STATE_DEAD) != EVENT_STATE_DEAD;
}

/*
 * Sends the row for the moment in which a thread left, if that row was left out or lost and the
 * thread is off the CPU at the end. The row gets the thread's present stack, if the thread has been
 * away since. The thread may come back while its stack is copied. `row` is the row of the end, and
 * is so again afterwards: the stack of BPF has no room for two.
 */
static __always_inline int end_joined(struct bpf_iter__task *ctx, struct task_struct *task,
				      struct thread *th, struct emission *row, __u64 how)
{
	__u64 switches = th->joined.switches;
	struct capture_slot *slot = NULL;
	int sent;

	row->time_ns = th->out_ns;
	row->state = th->state;
	cover_joined(th, row);
	if (has_waited_since(task, switches))
		slot = event__capture(ctx, task, row, how);
	if (slot && !has_waited_since(task, switches)) {
		event__drop(slot);
		slot = NULL;
	}
	if (!is_first_visit(th))
		return slot ? event__drop(slot) : 0;
	sent = slot ? event__send(slot, row->time_ns) : emit(ctx, task, row, 0);
	row->time_ns = end_ns;
	row->state = EVENT_STATE_WAITING;
	row->duration_ns = row->gaps_ns = 0;
	row->runnable_ns = UNKNOWN;
	return sent;
}

static __always_inline int end_row(struct bpf_iter__task *ctx, struct task_struct *task, __u64 how)
{
	struct thread *th = thread__find(task);
	struct emission row = row_at(task, end_ns, EVENT_STATE_WAITING);
	int sent;

	if (!th || th->state == EVENT_STATE_DEAD || (!th->seen && task->exit_state) ||
	    !recorded(task))
		return 0;
	row.unpaced = true;
	if (!th->in_ns && th->seen && th->joined.begin_ns) {
		sent = end_joined(ctx, task, th, &row, how);
		return sent ? sent + emit(ctx, task, &row, 0) : 0;
	}
	if (th->in_ns || !th->seen) {
		row.state = EVENT_STATE_RUNNING;
		row.duration_ns = end_ns - (th->in_ns ? th->in_ns : begin_ns);
		cover_joined(th, &row);
	}
	return is_first_visit(th) ? emit(ctx, task, &row, 0) : 0;
}

/* Writes one byte of output for each thread with a row, so that a reader of a few bytes gets
 * control in between. */
static __always_inline int iterate(struct bpf_iter__task *ctx, __u64 how)
{
	struct task_struct *task = ctx->task;
	int sent;

	if (!task || !task->pid)
		return 0;
	if (!begin_ns) {
		prepare(task);
		return 0;
	}
	sent = end_ns ? end_row(ctx, task, how) : begin_row(ctx, task, how);
	if (sent)
		bpf_seq_write(ctx->meta->seq, &(char){ 0 }, 1);
	return 0;
}

/* kernel/locking/rwsem.c: a writer holds the lock, a thread waits for it, a waiter takes it next.
 */
#define RWSEM_READ_FAILED (1 | 2 | 4)

/*
 * Returns true if a reader of the task's memory would have to wait for the lock of its address
 * space. A process can hold it for any time; behind a waiting writer, readers wait too. Threads of
 * such a process get a kernel stack only.
 */
static __always_inline bool is_locked(struct task_struct *task)
{
	struct mm_struct *mm = task ? task->mm : NULL;

	return mm && bpf_core_field_exists(mm->mmap_lock.count) &&
	       (mm->mmap_lock.count.counter & RWSEM_READ_FAILED);
}

/* For kernels that can read the memory of another task in a program (5.18). */
SEC("?iter.s/task")
int switch__rows_sleepable(struct bpf_iter__task *ctx)
{
	__u64 how = cfg.how[EVENT_SWITCH] | CAPTURE_OTHER;

	return iterate(ctx, is_locked(ctx->task) ? how : how | CAPTURE_FAULT);
}

SEC("?iter/task")
int switch__rows(struct bpf_iter__task *ctx)
{
	return iterate(ctx, cfg.how[EVENT_SWITCH] | CAPTURE_OTHER);
}
