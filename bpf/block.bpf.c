// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * block: requests to disks, from the moment that somebody asks until they are done.
 *
 * A request begins when the bio that it is made for gets it (block_getrq): there current is who
 * asks, a flush is seen as it was asked for, and merging and splitting are behind it but for those
 * below. It is known by that bio until it is done (block_rq_complete, which says how many bytes and
 * how it went). The hooks in between come in whatever context runs the queue, not at all for
 * flushes (block_rq_issue), or without bytes and status, and only while the disk's statistics are
 * on (block_io_start, block_io_done).
 */
#include <asm-generic/errno.h>

#include "bpf/filter.bpf.h"

/* include/linux/blk_types.h: of bi_opf. Operations that write are odd. */
#define OP_MASK		0xff
#define OP_WRITES	0x01
#define OP_DISCARD	3
#define OP_SECURE_ERASE 5
#define OP_PREFLUSH	(1 << 18)

#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD   0x00200000

#define FLUSH	 0x2d6873756c66 /* "flush-" in memory */
#define FLUSH_SZ 6

#define FLIGHTS_MAX 16384
#define MERGED_MAX  256 /* bios in front of the first: no device takes more segments in one */
#define NO_KIND	    EVENT_KIND_CNT

/* A request in flight. */
struct flight {
	__u64 join; /* the address of the bio that it was made for */
	__u64 begin_ns;
	__u64 asked; /* bytes, with what was merged before it went to the device */
	__u64 moved; /* bytes, so far */
	__u32 kind;
	__u32 reason;	/* errno of what failed first */
	__u32 flushing; /* it has a row for the flush before its data too, and that goes on */
	__u32 unused;
};

/*
 * By the address of its bio; when it is done in parts, from the first on by its own. The oldest
 * goes when it is full, and its beginning then waits in user space until it goes there, counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64);
	__type(value, struct flight);
	__uint(max_entries, FLIGHTS_MAX);
} block__flights SEC(".maps");

static __always_inline __u64 flush_join(const struct flight *f)
{
	return f->join + 1; /* no address of a bio */
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
 * is current. When it ended is unknown, so the row has its beginning as its time. `row` is the
 * caller's, because the stack has no room for two: cpu and runnable_ns are set, the rest is
 * changed.
 */
static __always_inline void end_unseen(void *ctx, struct task_struct *task, __u64 bio,
				       struct emission *row)
{
	struct flight *f = bpf_map_lookup_elem(&block__flights, &bio);

	if (!f)
		return;
	row->time_ns = f->begin_ns;
	row->flags = EVENT_F_CLOSE;
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
 * Zones are opened and reset without data: no row. Where the disk has no volatile cache the kernel
 * has taken the wish to flush away before.
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
 * In whose name a kernel thread asks: the bio's cgroup, which is that of who made the pages dirty.
 * Where the io controller is one of version 1, it knows nothing of that.
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

/* Write-back is work that describes itself as flush-MAJOR:MINOR (wb_workfn() in fs/fs-writeback.c).
 */
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

/* The verifier goes through emit() once for each value that it knows; of this one it knows none. */
static __always_inline __u64 unknown(__u64 value)
{
	bpf_probe_read_kernel(&value, sizeof(value), &value);
	return value;
}

static __always_inline bool begin(void *ctx, struct task_struct *task, const struct emission *row)
{
	return emit(ctx, task, row, cfg.how[EVENT_BLK_READ]);
}

/* What the flush and the request have in common. */
static __always_inline void describe_begin(struct emission *row, const struct bio *bio,
					   const struct flight *flight)
{
	row->time_ns = flight->begin_ns;
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
				 .begin_ns = bpf_ktime_get_ns(),
				 .asked = bio->bi_iter.bi_size,
				 .kind = kind_of(bio) };
	struct emission row = { .cpu = bpf_get_smp_processor_id(), .runnable_ns = ~0ULL };
	bool sent;

	if (!capturing(flight.begin_ns))
		return 0;
	end_unseen(ctx, task, flight.join, &row);
	if (flight.kind == NO_KIND || !recorded_in(task, cgroup))
		return 0;
	describe_begin(&row, bio, &flight);
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

/* Of 5.15: a negative errno; since then a blk_status_t, as blk_status_to_errno() has them. */
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

/*
 * By one of its bios: the first, but for those that were merged in front of it. What follows came
 * by merging behind it and has none.
 */
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

/* It goes on without the bios that are done. */
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
 * The flush before its data is done when that goes to the device. In between the flush machinery
 * has put itself in the place of who is told the end (block/blk-flush.c).
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
 * A request may be done in parts; what failed has moved no bytes. With a flush before or after it,
 * its data is done first, and then it as a whole, when its end is its own again.
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

/* It becomes part of another, whose row has its bytes. */
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
