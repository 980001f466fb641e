/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire format between BPF programs and the collector; both include this file. Only __u8..__u64,
 * no pointers, no padding. */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

#include "bpf/arch.h"

/*
 * Kinds of events. A new event source adds its rows here, its bpf/NAME.bpf.c, and one row to
 * probes[] in src/capture/probe.c; nothing else enumerates the kinds. Append only. X(id, value of
 * the column `kind`, probe that makes it)
 */
#define EVENT_KINDS(X)                                       \
	X(PROFILE, "profile", "profile")                     \
	X(SWITCH, "switch", "switch")                        \
	X(EXEC, "exec", "exec")                              \
	X(EXIT, "exit", "exec")                              \
	X(FORK, "fork", "exec")                              \
	X(BLK_READ, "blk_read", "block")                     \
	X(BLK_WRITE, "blk_write", "block")                   \
	X(BLK_FLUSH, "blk_flush", "block")                   \
	X(BLK_DISCARD, "blk_discard", "block")               \
	X(RSS, "rss", "rss")                                 \
	X(VFS_READ, "vfs_read", "vfs")                       \
	X(VFS_WRITE, "vfs_write", "vfs")                     \
	X(FAULT, "fault", "fault")                           \
	X(TRACE_EXIT, "trace_exit", "usdt")                  \
	X(TRACE_CLOSE, "trace_close", "usdt")                \
	X(WAKE, "wake", "wake")                              \
	X(TCP_SEND, "tcp_send", "net")                       \
	X(TCP_RECV, "tcp_recv", "net")                       \
	X(UDP_SEND, "udp_send", "net")                       \
	X(UDP_RECV, "udp_recv", "net")                       \
	X(TCP_RETRANSMIT, "tcp_retransmit", "tcp")           \
	X(TCP_CONNECT, "tcp_connect", "tcp")                 \
	X(TCP_ACCEPT, "tcp_accept", "tcp")                   \
	X(TCP_RESET, "tcp_reset", "tcp")                     \
	X(UNIX_SEND, "unix_send", "net")                     \
	X(UNIX_RECV, "unix_recv", "net")                     \
	X(VFS_OPEN, "vfs_open", "vfs")                       \
	X(VFS_FSYNC, "vfs_fsync", "vfs")                     \
	X(VFS_FDATASYNC, "vfs_fdatasync", "vfs")             \
	X(VFS_SYNC_FILE_RANGE, "vfs_sync_file_range", "vfs") \
	X(VFS_RENAME, "vfs_rename", "vfs")                   \
	X(VFS_UNLINK, "vfs_unlink", "vfs")                   \
	X(VFS_STAT, "vfs_stat", "vfs")                       \
	X(ALLOC, "alloc", "alloc")                           \
	X(FREE, "free", "alloc")                             \
	X(UPROBE, "uprobe", "uprobe")                        \
	X(TRACEPOINT, "tracepoint", "tracepoint")            \
	X(SDT, "sdt", "sdt")                                 \
	X(CALL, "call", "call")                              \
	X(KPROBE, "kprobe", "kprobe")

#define X(id, ...) EVENT_##id,
enum event_kind { EVENT_KINDS(X) EVENT_KIND_CNT };
#undef X

/* Reasons for lost events: X(id, value of the column `reason`) */
#define EVENT_LOSSES(X)                                                                         \
	X(RING_FULL, "ring_full") /* user space did not drain this CPU's ring in time */        \
	X(NESTED, "nested") /* a program interrupted itself, or there were more nested programs \
			       than slots */                                                    \
	X(STATE_FULL, "state_full") /* a map that the kind needs was full */                    \
	X(RATE_LIMIT, "rate_limit") /* more than --max-rate of this kind on this CPU */         \
	X(NO_MEMORY,                                                                            \
	  "no_memory") /* the kernel had no memory for the per-thread state of the kind */      \
	X(UNMATCHED, "unmatched") /* an exit from a span that the thread is not in */

#define X(id, ...) EVENT_LOST_##id,
enum event_loss { EVENT_LOSSES(X) EVENT_LOSS_CNT };
#undef X

enum event_flags {
	EVENT_F_USER = 1 << 0,	    /* regs and stack_addr are set; ustack_sz bytes follow */
	EVENT_F_TRUNCATED = 1 << 1, /* the user stack continues after the copied bytes */
	EVENT_F_COMPAT = 1 << 2,    /* 32-bit registers */
	EVENT_F_RUNNABLE = 1 << 3,  /* runnable_ns is known */
	EVENT_F_TARGET = 1 << 4,    /* target is set */
	/* the operation `join` has begun; no earlier row is still open */
	EVENT_F_OPEN = 1 << 5,
	/* the operation has ended: time_ns, amount and reason are those of the end */
	EVENT_F_CLOSE = 1 << 6,
	/* with CLOSE: the operation became part of another one and has no row */
	EVENT_F_CANCEL = 1 << 7,
	/* the kernel stack is that of an interrupt, and the interrupted code is not involved */
	EVENT_F_INTERRUPT = 1 << 8,
	/* with OPEN: the operation has a row even if the recording ends first */
	EVENT_F_PENDING = 1 << 9,
	EVENT_F_HOLES = 1 << 10,    /* some pages of the user stack are missing: see event */
	EVENT_F_SWITCHED = 1 << 11, /* the thread came from another stack: see event_switched */
	EVENT_F_RUNTIME = 1 << 12,  /* has an interpreter's frames: see event_runtime */
	/* with CLOSE: when the operation ended is unknown; time_ns is when that was found out */
	EVENT_F_UNTIMED = 1 << 13,
};

/*
 * Additional data of an event: one of these structs, of which detail_sz bytes are sent. X(id,
 * struct)
 */
#define EVENT_DETAILS(X)          \
	X(NONE, event_none)       \
	X(DISK, event_disk)       \
	X(FILE, event_file)       \
	X(SOCKET, event_socket)   \
	X(ADDRESS, event_address) \
	X(UNIX, event_unix)       \
	X(PATH, event_path)       \
	X(ARGS, event_args)

#define X(id, ...) EVENT_DETAIL_##id,
enum event_detail { EVENT_DETAILS(X) EVENT_DETAIL_CNT };
#undef X

struct event_none {
	__u64 unused;
};

struct event_disk {
	char name[32]; /* DISK_NAME_LEN */
};

struct event_file {
	char fs[16];	/* file system type */
	char name[256]; /* last part of the path; for short names, fewer bytes may be sent */
};

struct event_path {
	char fs[16];	/* file system type of what was opened; empty where it is not known */
	char path[256]; /* as the program wrote it; shorter ones may be sent shorter */
};

struct event_socket {
	__u16 family; /* AF_INET (the first 4 bytes of the addresses are used) or AF_INET6 */
	__u16 local_port, peer_port;
	__u16 unused;
	__u8 local[16], peer[16];
};

struct event_address {
	__u64 address;
};

/* The path that a Unix socket is bound to, or else its peer. An abstract name begins with '@' in
 * place of its NUL byte. */
struct event_unix {
	char path[108];
	__u32 is_local;
};

#define EVENT_ARG_CNT	  4
#define EVENT_ARG_TEXT_SZ 56

/* What a chosen probe passed (src/capture/anyprobe.h). A text ends with NUL; its value is its size
 * with that, 0 if it could not be read. A single text has all the room. */
struct event_args {
	__u64 choice; /* index of the probe's choice */
	__u64 values[EVENT_ARG_CNT];
	char text[EVENT_ARG_CNT][EVENT_ARG_TEXT_SZ];
};

#define EVENT_DETAIL_MAX sizeof(struct event_file)

/* The column `reason`: 0 none, an errno, or one of these. X(id, value) */
#define EVENT_REASON_FIRST 4096
#define EVENT_REASONS(X)            \
	X(SENT, "sent")             \
	X(RECEIVED, "received")     \
	X(WRITEBACK, "writeback")   \
	X(CLOSED, "closed")         \
	X(PENDING, "pending")       \
	X(END_UNSEEN, "end_unseen") \
	X(NO_RETURN, "no_return")

#define X(id, ...) EVENT_REASON_##id,
enum event_reason {
	EVENT_REASON_BEFORE = EVENT_REASON_FIRST - 1,
	EVENT_REASONS(X) EVENT_REASON_END
};
#undef X

/* How a thread left the CPU. X(id, value of the column `state`). Append only. */
#define EVENT_STATES(X)                                                       \
	X(NONE, NULL)                                                         \
	X(PREEMPTED, "preempted")                                             \
	X(SLEEPING, "sleeping")                                               \
	X(DISK_SLEEP, "disk_sleep")                                           \
	X(STOPPED, "stopped")                                                 \
	X(TRACED, "traced")                                                   \
	X(PARKED, "parked")                                                   \
	X(IDLE, "idle")                                                       \
	X(DEAD, "dead")                                                       \
	X(RUNNING, "running") /* still on the CPU when the recording ended */ \
	X(WAITING, "waiting") /* still off the CPU when the recording ended */

#define X(id, ...) EVENT_STATE_##id,
enum event_state { EVENT_STATES(X) EVENT_STATE_CNT };
#undef X

#define EVENT_COMM_SZ	 16
#define EVENT_SPAN_SZ	 16
#define EVENT_KSTACK_MAX 127 /* frames; the default of kernel.perf_event_max_stack */
#define EVENT_STACK_MAX	 (1u << 20)
#define EVENT_PAGE	 4096
/* bytes: one bit for each page of the largest stack, in words of 8 bytes */
#define EVENT_HOLES_SZ	   40
#define EVENT_SWITCHED_MAX 65536 /* bytes of that stack */

/*
 * Fixed part of an event. data[] has its detail, the kernel pcs (leaf first) and the user stack
 * bytes. The sizes of detail and pcs are multiples of 8 bytes. With EVENT_F_HOLES, pages that were
 * not in memory are left out of the stack bytes, and EVENT_HOLES_SZ bytes after them list the
 * missing pages: bit n (of byte n / 8) stands for the nth page, counted from that of stack_addr.
 * With EVENT_F_SWITCHED, an event_switched follows, and with EVENT_F_RUNTIME an event_runtime after
 * that.
 */
struct event {
	__u64 time_ns;	   /* CLOCK_MONOTONIC; end of the event */
	__u64 duration_ns; /* its meaning depends on the kind */
	__u64 amount, id;
	__u64 span_id, parent_id; /* the thread's innermost open span; 0: none */
	union {
		__u64 join;    /* with EVENT_F_OPEN, EVENT_F_CLOSE: identifies the operation */
		__u64 gaps_ns; /* switch: time off the CPU inside the slice */
	};
	/* switch: time that the thread waited for a CPU before the slice; valid with
	 * EVENT_F_RUNNABLE */
	__u64 runnable_ns;
	__u64 cgroup_id; /* inode of the cgroup v2 folder */
	/* address of the first user stack byte: stack pointer minus the red zone */
	__u64 stack_addr;
	__u64 regs[EVENT_REG_CNT];
	__u32 tgid, tid; /* process, thread */
	__u32 target;
	__u16 cpu;
	__u8 kind, state;	    /* enum event_kind, enum event_state */
	__u32 flags;		    /* enum event_flags */
	__u32 weight;		    /* number of events that this one stands for */
	__u32 kstack_sz, ustack_sz; /* bytes */
	__u16 detail_sz;	    /* bytes */
	__u16 reason;		    /* errno, enum event_reason, 0 */
	__u16 detail;		    /* enum event_detail */
	__u16 call_cnt;		    /* with EVENT_F_RUNTIME */
	char comm[EVENT_COMM_SZ];   /* name of the process, that is, of its first thread */
	char thread[EVENT_COMM_SZ]; /* name of the thread */
	char span[EVENT_SPAN_SZ];   /* the span's name; not NUL-terminated at its full length */
	__u8 data[];
};
/*
 * Go's runtime works for a goroutine on the thread's own stack (runtime.systemstack). This is where
 * the goroutine's stack continues, with sz bytes of it from its stack pointer on. All 0: the
 * runtime has left the goroutine and works for none (runtime.schedule). If a signal handler runs on
 * a signal stack, this is the interrupted stack instead.
 */
struct event_switched {
	__u64 pc, sp, fp;
	__u64 link; /* the link register; 0: unknown, or there is none */
	__u64 sz;
	__u8 bytes[];
};

/* One function call of the program that an interpreter runs, as words of the interpreter's memory.
 */
struct event_call {
	__u64 at;   /* address of the interpreter's frame */
	__u64 code; /* the function, or a tagged pointer to it */
	__u64 instr;
	__u64 word; /* the word with the frame's kind */
	/* EVENT_COOKIE of three words of the function, because its address may be reused */
	__u64 cookie;
};

#define EVENT_COOKIE_FACTOR   0x9e3779b97f4a7c15ULL
#define EVENT_COOKIE(a, b, c) (((a)*EVENT_COOKIE_FACTOR + (b)) * EVENT_COOKIE_FACTOR + (c))

#define EVENT_CALLS_MAX 1024

/* The calls of a thread, innermost first. src/runtime/ interprets them. */
struct event_runtime {
	__u64 base; /* base to which the thread's state refers: the first call, or its place */
	__u64 layout;
	__u64 cut; /* not 0: there are more calls, or a call could not be read */
	struct event_call calls[];
};

_Static_assert(EVENT_HOLES_SZ % 8 == 0 && EVENT_HOLES_SZ * 8 > EVENT_STACK_MAX / EVENT_PAGE + 1,
	       "a bit for each page");
_Static_assert(sizeof(struct event) == 10 * 8 + EVENT_REG_CNT * 8 + 40 + 3 * 16, "no padding");

#endif
