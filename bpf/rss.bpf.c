// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rss: the memory of a process, in RAM and in swap, after a change. `amount` is absolute: the
 * growth that belongs to a stack is the difference to the previous row of the process, whatever N
 * is. For these differences to add up, a process has a row at the beginning. It has one at its end
 * or that of the recording if something changed since the last row. In between, it has one row per
 * N changes, or per fewer if they are large. The first and the last row have no stacks, because the
 * origin of their changes is not known.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/taskstate.bpf.h"

#define TRIES 3

/* State of a process, kept for its first thread. */
struct memory {
	__u64 mm;      /* the address space that the rest refers to; never dereferenced */
	__s64 pages;   /* at its last row, without the counts of individual CPUs */
	__u32 changes; /* since its last row */
	__u32 owed;    /* the last row was lost */
};

TASK_STATE(rss, memory, struct memory, 4096) /* 400 KB */

/* A per-CPU allocation that shows the addresses of its parts. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} yardstick SEC(".maps");

/* The address of each CPU's part, by CPU. User space sets the size before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} offsets SEC(".maps");

SEC("?tp_btf/sched_process_free")
int BPF_PROG(rss__free, struct task_struct *task)
{
	memory__forget(task);
	return 0;
}

/* Returns NULL if the memory has no owner: a fork or an exec is still building it, or its last
 * thread has left it. `task` is related to it. */
static __always_inline struct task_struct *owner_of(const struct mm_struct *mm,
						    struct task_struct *task)
{
	struct task_struct *owner = task->group_leader;

	if (bpf_core_field_exists(mm->owner))
		owner = mm->owner;
	return owner && owner->mm == mm ? owner : NULL;
}

/* ---- pages --------------------------------------------------------------------------------------
 * The four counters of a process are of file, anonymous, swapped and shared memory
 * (include/linux/mm_types_task.h).
 */

/* Without the counts of individual CPUs; up to 6.1, the total. Not inlined: code that the compiler
 * moves out of a loop would run on kernels without this field. */
static __noinline __s64 pages_in_common(const struct mm_struct *mm)
{
	const struct mm_struct___old *old = (const void *)mm;
	__s64 pages[4] = {};

	if (!bpf_core_field_exists(old->rss_stat.count))
		return mm->rss_stat[0].count + mm->rss_stat[1].count + mm->rss_stat[2].count +
		       mm->rss_stat[3].count;
	bpf_core_read(pages, sizeof(pages), &old->rss_stat.count);
	return pages[0] + pages[1] + pages[2] + pages[3];
}

/* Returns the distance of a CPU's part of a per-CPU allocation from its address. 0: not known. */
static __always_inline __u64 offset_of_cpu(__u32 cpu)
{
	const void *map = &yardstick, *part;
	__u64 map_addr = 0, addr = 0, part_addr = 0;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
		return 0;
	part = bpf_map_lookup_percpu_elem(&yardstick, &(__u32){ 0 }, cpu);
	/* Converts pointers to numbers, because the verifier allows arithmetic only on numbers. */
	bpf_probe_read_kernel(&map_addr, sizeof(map_addr), &map);
	bpf_probe_read_kernel(&part_addr, sizeof(part_addr), &part);
	bpf_probe_read_kernel(&addr, sizeof(addr),
			      (const void *)map_addr +
				      bpf_core_field_offset(struct bpf_array, pptrs));
	return addr && part_addr ? part_addr - addr : 0;
}

static __always_inline __s64 part(const int *counter, __u64 offset)
{
	__s32 pages = 0;

	bpf_probe_read_kernel(&pages, sizeof(pages), (const void *)counter + offset);
	return pages;
}

struct cpu_sum {
	const int *counters[4];
	__s64 pages;
};

static long cpu_sum__add(__u32 cpu, struct cpu_sum *sum)
{
	__u64 *offset = bpf_map_lookup_elem(&offsets, &cpu);

	if (!offset)
		return 1;
	if (!*offset)
		*offset = offset_of_cpu(cpu);
	for (int i = 0; i < 4; i++)
		sum->pages += part(sum->counters[i], *offset);
	return 0;
}

/* Uses bpf_loop() (5.17), because for a loop in C the verifier would check an iteration for each
 * CPU, and gives up at a few hundred. Kernels with such counters (6.2) have it. */
static __noinline __s64 pages_on_cpus(const struct mm_struct *mm)
{
	struct cpu_sum sum = {};

	if (!bpf_core_field_exists(mm->rss_stat[0].counters))
		return 0;
	sum.counters[0] = mm->rss_stat[0].counters;
	sum.counters[1] = mm->rss_stat[1].counters;
	sum.counters[2] = mm->rss_stat[2].counters;
	sum.counters[3] = mm->rss_stat[3].counters;
	bpf_loop(cfg.cpu_cnt, cpu_sum__add, &sum, 0);
	return sum.pages;
}

/*
 * Like lib/percpu_counter.c, percpu_counter_sum(), which holds a lock that is not available here.
 * If a CPU moves its part into the common counter meanwhile, that part would be counted twice or
 * not at all. Everything is then read again.
 */
static __always_inline __u64 pages_of(const struct mm_struct *mm)
{
	__s64 pages = 0;

	for (int i = 0; i < TRIES; i++) {
		__s64 common = pages_in_common(mm);

		pages = common + pages_on_cpus(mm);
		if (pages_in_common(mm) == common)
			break;
	}
	return pages > 0 ? pages : 0;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* The rows of this kind are not left out by `thinning`: each stands for more changes. */
static __always_inline __u64 changes_per_row(void)
{
	__u64 every = cfg.param[EVENT_RSS];

	if (!cfg.thins || thinning[EVENT_RSS] <= 1)
		return every;
	return (every ? every : 1) * thinning[EVENT_RSS];
}

/*
 * Returns the number of changes that a row stands for if this change makes a row, else 0. A change
 * is mostly one page. It is many pages when a file is mapped or munmap() frees memory, one huge
 * page, or, on kernels up to 6.1, the pages that a thread has collected. A row should never stand
 * for much more than N pages. So it does not wait for N changes if the memory has changed by twice
 * that. (This uses the common counters, which change by 32 pages or more at a time.)
 */
static __always_inline __u32 due(struct memory *m, const struct mm_struct *mm)
{
	__u64 every = changes_per_row();
	__s64 moved = pages_in_common(mm) - m->pages, most = 2 * every;
	__u32 changes;

	if (m->mm != (__u64)mm) {
		m->mm = (__u64)mm;
		m->changes = 0;
		return 1;
	}
	changes = __sync_fetch_and_add(&m->changes, 1) + 1;
	if (changes < every && moved < most && moved > -most)
		return 0;
	/* Another CPU that has come as far makes the row. */
	return __sync_val_compare_and_swap(&m->changes, changes, 0) == changes ? changes : 0;
}

struct change {
	struct task_struct *owner, *task; /* the owner of the memory, the task with the stacks */
	const struct mm_struct *mm;
	__u64 time_ns;
	__u32 cnt;
	bool outer; /* the first or the last row: not counted by --max-rate */
};

/* While exec replaces a program, the registers are those of the old program. */
static __always_inline bool is_its_own(const struct task_struct *task, const struct mm_struct *mm)
{
	return task->mm == mm && !BPF_CORE_READ_BITFIELD(task, in_execve);
}

static __always_inline int row(void *ctx, struct memory *m, const struct change *c, __u32 how)
{
	struct owner owner;
	struct emission row = { .time_ns = c->time_ns,
				.kind = EVENT_RSS,
				.cpu = bpf_get_smp_processor_id(),
				.weight = c->cnt,
				.runnable_ns = ~0ULL,
				.owner = &owner,
				.unpaced = c->outer };
	int sent;

	owner__set(&owner, c->owner);
	/* The span in which the memory changed, if one of its own threads changed it. */
	if (cfg.spans && !c->outer && is_its_own(c->task, c->mm))
		row.span = span__innermost(c->task);
	m->pages = pages_in_common(c->mm);
	row.amount = pages_of(c->mm) * ARCH_PAGE;
	m->owed = 1;
	sent = emit(ctx, c->task, &row, how);
	m = memory__find(c->owner->group_leader);
	if (sent && m)
		m->owed = 0;
	return sent;
}

SEC("?tp_btf/rss_stat")
int BPF_PROG(rss__change, struct mm_struct *mm)
{
	struct change c = { .mm = mm, .time_ns = bpf_ktime_get_ns() };
	struct memory *m;

	if (!capturing(c.time_ns))
		return 0;
	c.task = (void *)bpf_get_current_task_btf();
	c.owner = owner_of(mm, c.task);
	if (!c.owner || !recorded(c.owner))
		return 0;
	m = memory__create(c.owner->group_leader);
	if (!m) {
		lose(EVENT_RSS, EVENT_LOST_NO_MEMORY);
		return 0;
	}
	c.cnt = due(m, mm);
	if (!c.cnt)
		return 0;
	if (is_its_own(c.task, mm))
		return row(ctx, m, &c, cfg.how[EVENT_RSS]);
	return row(ctx, m, &c, cfg.how[EVENT_RSS] & CAPTURE_KERNEL);
}

/* ---- the beginning and the end ------------------------------------------------------------------
 */

static __always_inline int last_row(void *ctx, struct task_struct *owner, __u64 time_ns)
{
	struct memory *m = memory__find(owner->group_leader);
	struct change c = {
		.owner = owner, .task = owner, .mm = owner->mm, .time_ns = time_ns, .outer = true
	};

	if (!m || m->mm != (__u64)c.mm || !recorded(owner))
		return 0;
	c.cnt = __sync_lock_test_and_set(&m->changes, 0);
	return c.cnt || m->owed ? row(ctx, m, &c, 0) : 0;
}

/* The last thread of a process is about to leave its memory. */
static __always_inline void leave(void *ctx, struct task_struct *task)
{
	__u64 now_ns = bpf_ktime_get_ns();
	const struct mm_struct *mm = task->mm;
	struct task_struct *owner;

	if (!mm || task->signal->live.counter || !capturing(now_ns))
		return;
	owner = owner_of(mm, task);
	if (owner && owner->tgid == task->tgid)
		last_row(ctx, owner, now_ns);
}

/* From 6.16 on, this runs before the memory is freed. */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(rss__exit, struct task_struct *task)
{
	leave(ctx, task);
	return 0;
}

/* Up to 6.15. If both run, the second has nothing to do. */
SEC("?fentry/exit_mm_release")
int BPF_PROG(rss__release, struct task_struct *task)
{
	leave(ctx, task);
	return 0;
}

static __always_inline int first_row(void *ctx, struct task_struct *owner)
{
	struct memory *m = memory__create(owner->group_leader);
	struct change c = { .owner = owner,
			    .task = owner,
			    .mm = owner->mm,
			    .time_ns = begin_ns,
			    .cnt = 1,
			    .outer = true };

	if (!m || m->mm || !recorded(owner))
		return 0;
	m->mm = (__u64)c.mm;
	return row(ctx, m, &c, 0);
}

/* Writes one byte of output for each row, so that a reader of a few bytes gets control in between.
 */
SEC("?iter/task")
int rss__rows(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	int sent;

	if (!begin_ns || !task || !task->mm || owner_of(task->mm, task) != task)
		return 0;
	sent = end_ns ? last_row(ctx, task, end_ns) : first_row(ctx, task);
	if (sent)
		bpf_seq_write(ctx->meta->seq, &(char){ 0 }, 1);
	return 0;
}
