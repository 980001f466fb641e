// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * block: disk requests, from the moment they are made until they complete.
 *
 * A request begins when it gets the bio that it was made for (block_getrq). At that point current
 * is the requester, a flush is seen as it was requested, and merging and splitting are over except
 * for the cases below. A request is identified by this bio until it completes (block_rq_complete,
 * which reports the bytes and the status). The hooks in between are not suitable. They run in the
 * context that runs the queue, or not at all for flushes (block_rq_issue). Or they lack bytes and
 * status and run only if the disk's statistics are on (block_io_start, block_io_done).
 */
#include <asm-generic/errno.h>

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"

/* include/linux/blk_types.h: bits of bi_opf. Operations that write are odd. */
#define OP_MASK		0xff
#define OP_WRITES	0x01
#define OP_DISCARD	3
#define OP_SECURE_ERASE 5
#define OP_PREFLUSH	(1 << 18)

#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD   0x00200000

#define FLUSH	 0x2d6873756c66 /* the bytes "flush-" in memory */
#define FLUSH_SZ 6

#define FLIGHTS_MAX 16384
/* bios in front of the first; no device takes more segments in one request */
#define MERGED_MAX 256
#define NO_KIND	   EVENT_KIND_CNT

/* A request in flight. */
struct flight {
	__u64 join;  /* the address of the bio that it was made for */
	__u64 asked; /* bytes, with what was merged before it went to the device */
	__u64 moved; /* bytes, so far */
	__u32 kind;
	__u32 reason;	/* errno of the first failure */
	__u32 flushing; /* the row for the flush before its data is still open */
	__u32 unused;
};

/*
 * The key is the address of the bio. A request that completes in parts has its own address as key
 * after the first part. If the map is full, the oldest request is dropped. Its beginning then waits
 * in user space until it is dropped there and counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64);
	__type(value, struct flight);
	__uint(max_entries, FLIGHTS_MAX);
} block__flights SEC(".maps");

static __always_inline __u64 flush_join(const struct flight *f)
{
	return f->join + 1; /* cannot be the address of a bio */
}

/* ---- what has ended
 * -------------------------------------------------------------------------------
 */

static __always_inline void end(void *ctx, const struct emission *what)
{
	struct emission row = *what;

	row.cpu = bpf_get_smp_processor_id();
	row.runnable_ns = ~0ULL;
	row.flags |= EVENT_F_CLOSE;
	row.unpaced = true;
	emit(ctx, (void *)bpf_get_current_task_btf(), &row, 0);
}

static __always_inline void end_flush(void *ctx, struct flight *f, __u64 now_ns)
{
	if (!f->flushing)
		return;
	end(ctx, &(struct emission){ .time_ns = now_ns,
				     .kind = EVENT_BLK_FLUSH,
				     .join = flush_join(f),
				     .reason = f->reason });
	f->flushing = 0;
}

/*
 * Ends the request that had this bio before. block__complete() did not see it: the kernel runs no
 * program in an interrupt of the same program, and hardened kernels run none while a protected task
 * is current. When it ended is unknown. The event has the time of the beginning that follows it: an
 * earlier one could overtake the request's own beginning, which may be in another CPU's ring.
 * `row` is the caller's, because the stack has no room for two: time_ns, cpu and runnable_ns are
 * set, the rest is changed.
 */
static __always_inline void end_unseen(void *ctx, struct task_struct *task, __u64 bio,
				       struct emission *row)
{
	struct flight *f = bpf_map_lookup_elem(&block__flights, &bio);

	if (!f)
		return;
	row->flags = EVENT_F_CLOSE | EVENT_F_UNTIMED;
	row->reason = EVENT_REASON_END_UNSEEN;
	row->unpaced = true;
	if (f->flushing) {
		row->kind = EVENT_BLK_FLUSH;
		row->join = flush_join(f);
		emit(ctx, task, row, 0);
	}
	row->kind = f->kind;
	row->join = f->join;
	row->amount = f->asked;
	emit(ctx, task, row, 0);
	bpf_map_delete_elem(&block__flights, &bio);
}

/* ---- the beginning ------------------------------------------------------------------------------
 */

/*
 * Opening and resetting zones moves no data and has no row. If the disk has no volatile cache, the
 * kernel has already removed the flush flag.
 */
static __always_inline __u32 kind_of(const struct bio *bio)
{
	__u32 op = bio->bi_opf & OP_MASK;

	if (!bio->bi_iter.bi_size)
		return bio->bi_opf & OP_PREFLUSH ? EVENT_BLK_FLUSH : NO_KIND;
	if (op == OP_DISCARD || op == OP_SECURE_ERASE)
		return EVENT_BLK_DISCARD;
	return op & OP_WRITES ? EVENT_BLK_WRITE : EVENT_BLK_READ;
}

/*
 * The cgroup on behalf of which a kernel thread makes the request: the cgroup of the bio, which is
 * that of the process that dirtied the pages. If the io controller is a version 1 controller, the
 * bio has no such cgroup.
 */
static __always_inline const struct cgroup *cgroup_of(const struct bio *bio,
						      const struct task_struct *task)
{
	const struct cgroup *own = task->cgroups->dfl_cgrp, *asked;

	if (!(task->flags & PF_KTHREAD) || !bpf_core_field_exists(bio->bi_blkg))
		return own;
	asked = bio->bi_blkg->blkcg->css.cgroup;
	return asked->root == own->root ? asked : own;
}

/* Write-back is work with the description flush-MAJOR:MINOR (wb_workfn() in fs/fs-writeback.c). */
static __always_inline bool writes_back(const struct task_struct *task)
{
	const struct kthread *kthread;
	const struct worker *worker;
	__u64 desc = 0;

	if (!(task->flags & PF_WQ_WORKER))
		return false;
	if (bpf_core_field_exists(task->worker_private))
		kthread = task->worker_private;
	else
		kthread = (const void *)task->set_child_tid;
	worker = BPF_CORE_READ(kthread, data);
	bpf_core_read(&desc, FLUSH_SZ, &worker->desc);
	return desc == FLUSH;
}

/* Hides the value from the verifier. Otherwise it checks emit() once for each known value. */
static __always_inline __u64 unknown(__u64 value)
{
	bpf_probe_read_kernel(&value, sizeof(value), &value);
	return value;
}

static __always_inline bool begin(void *ctx, struct task_struct *task, const struct emission *row)
{
	return emit(ctx, task, row, cfg.how[EVENT_BLK_READ]);
}

/* Fields that the flush and the request have in common. */
static __always_inline void describe_begin(struct emission *row, const struct bio *bio)
{
	row->flags = EVENT_F_OPEN;
	row->reason = row->amount = row->unpaced = 0;
	row->detail = EVENT_DETAIL_DISK;
	row->detail_data = bio->bi_bdev->bd_disk->disk_name;
	row->detail_sz = sizeof(struct event_disk);
}

/* A write that asks for a flush before it (a journal's commit) is two rows. */
SEC("?tp_btf/block_getrq")
int BPF_PROG(block__start, struct bio *bio)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	const struct cgroup *cgroup = cgroup_of(bio, task);
	struct flight flight = { .join = (__u64)bio,
				 .asked = bio->bi_iter.bi_size,
				 .kind = kind_of(bio) };
	struct emission row = { .time_ns = bpf_ktime_get_ns(),
				.cpu = bpf_get_smp_processor_id(),
				.runnable_ns = ~0ULL };
	bool sent;

	if (!capturing(row.time_ns))
		return 0;
	end_unseen(ctx, task, flight.join, &row);
	if (flight.kind == NO_KIND || !recorded_in(task, cgroup))
		return 0;
	describe_begin(&row, bio);
	row.cgroup_id = cgroup->kn->id;
	if (flight.kind != EVENT_BLK_READ && writes_back(task))
		row.reason = EVENT_REASON_WRITEBACK;
	row.reason = unknown(row.reason);
	row.kind = EVENT_BLK_FLUSH;
	row.join = flush_join(&flight);
	if (flight.kind == EVENT_BLK_WRITE && bio->bi_opf & OP_PREFLUSH)
		flight.flushing = begin(ctx, task, &row);
	flight.flushing = unknown(flight.flushing);
	row.kind = flight.kind = unknown(flight.kind);
	row.join = flight.join;
	sent = begin(ctx, task, &row);
	if ((sent || flight.flushing) &&
	    bpf_map_update_elem(&block__flights, &flight.join, &flight, BPF_ANY))
		lose(flight.kind, EVENT_LOST_STATE_FULL);
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------------
 */

/* In 5.15 a negative errno; since then a blk_status_t, converted as in blk_status_to_errno(). */
static __always_inline __u32 errno_of(int error)
{
	static const __u8 errnos[] = {
		[1] = EOPNOTSUPP, [2] = ETIMEDOUT, [3] = ENOSPC, [4] = ENOLINK, [5] = EREMOTEIO,
		[6] = EBADE,	  [7] = ENODATA,   [8] = EILSEQ, [9] = ENOMEM,	[10] = EIO,
		[11] = EREMCHG,	  [12] = EAGAIN,   [13] = EBUSY,
	};
	__u32 status = error;

	if (error < 0)
		return -error;
	return status < sizeof(errnos) ? errnos[status] : EIO;
}

/* Looks the request up by its bios: by the first one, or by those that were merged in front of the
 * original first one. Bios that were merged at the end have no entry. */
static __always_inline struct flight *flight__find(const struct request *rq, __u64 *key)
{
	const struct bio *bio = rq->bio;
	struct flight *f;

	for (int i = 0; i < MERGED_MAX && bio; i++) {
		*key = (__u64)bio;
		f = bpf_map_lookup_elem(&block__flights, key);
		if (f)
			return f;
		bio = bio->bi_next;
	}
	*key = (__u64)rq;
	return bpf_map_lookup_elem(&block__flights, key);
}

/* Keeps a request that continues without its completed bios. */
static __always_inline void flight__keep(const struct request *rq, __u64 key, struct flight *f)
{
	struct flight copy = *f;
	__u64 own = (__u64)rq;

	if (key == own)
		return;
	bpf_map_delete_elem(&block__flights, &key);
	if (bpf_map_update_elem(&block__flights, &own, &copy, BPF_ANY))
		lose(copy.kind, EVENT_LOST_STATE_FULL);
}

/*
 * The flush before the data completes when the data goes to the device. In between, the flush
 * machinery has replaced the request's completion callback (block/blk-flush.c).
 */
SEC("?tp_btf/block_rq_issue")
int BPF_PROG(block__issue, struct request *rq)
{
	__u64 now_ns = bpf_ktime_get_ns(), key;
	struct flight *f;

	if (!capturing(now_ns))
		return 0;
	f = flight__find(rq, &key);
	if (!f)
		return 0;
	if (f->asked < rq->__data_len)
		f->asked = rq->__data_len;
	if (rq->end_io)
		end_flush(ctx, f, now_ns);
	return 0;
}

/*
 * A request may complete in parts. A part that failed has moved no bytes. With a flush before or
 * after it, its data completes first. The whole request completes after that, when it has its own
 * completion callback again.
 */
SEC("?tp_btf/block_rq_complete")
int BPF_PROG(block__complete, struct request *rq, int error, unsigned int bytes)
{
	__u64 now_ns = bpf_ktime_get_ns(), key;
	struct flight *f;

	if (!capturing(now_ns))
		return 0;
	f = flight__find(rq, &key);
	if (!f)
		return 0;
	if (!error)
		f->moved += bytes;
	else if (!f->reason)
		f->reason = errno_of(error);
	if (rq->end_io || bytes < rq->__data_len) {
		flight__keep(rq, key, f);
		return 0;
	}
	end_flush(ctx, f, now_ns);
	end(ctx, &(struct emission){ .time_ns = now_ns,
				     .kind = f->kind,
				     .join = f->join,
				     .amount = f->moved,
				     .reason = f->reason });
	bpf_map_delete_elem(&block__flights, &key);
	return 0;
}

/* The request becomes part of another one. The row of that one includes its bytes. */
SEC("?tp_btf/block_rq_merge")
int BPF_PROG(block__merge, struct request *rq)
{
	__u64 now_ns = bpf_ktime_get_ns(), key;
	struct flight *f;

	if (!capturing(now_ns))
		return 0;
	f = flight__find(rq, &key);
	if (!f)
		return 0;
	end(ctx,
	    &(struct emission){
		    .time_ns = now_ns, .kind = f->kind, .join = f->join, .flags = EVENT_F_CANCEL });
	bpf_map_delete_elem(&block__flights, &key);
	return 0;
}
