/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire format between BPF programs and the collector; included by both. Only __u8..__u64, no
 * pointers, no padding. */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

/*
 * Kinds of events. A new event source adds its rows here, its bpf/NAME.bpf.c, and one row to
 * probes[] in src/capture/probe.c; nothing else enumerates the kinds. Append only. X(id, value of
 * the column `kind`, probe that makes it)
 */
#define EVENT_KINDS(X)                   \
	X(PROFILE, "profile", "profile") \
	X(SWITCH, "switch", "switch")

#define X(id, ...) EVENT_##id,
enum event_kind { EVENT_KINDS(X) EVENT_KIND_CNT };
#undef X

/* Why an event was lost: X(id, value of the column `reason`) */
#define EVENT_LOSSES(X)                                                                     \
	X(RING_FULL, "ring_full") /* user space did not drain this CPU's ring in time */    \
	X(NESTED,                                                                           \
	  "nested") /* more programs interrupted each other than there are scratch slots */ \
	X(STATE_FULL, "state_full") /* a map that the kind needs had no room */

#define X(id, ...) EVENT_LOST_##id,
enum event_loss { EVENT_LOSSES(X) EVENT_LOSS_CNT };
#undef X

enum event_flags {
	EVENT_F_USER = 1 << 0,	    /* regs and stack_addr are set; ustack_sz bytes follow */
	EVENT_F_TRUNCATED = 1 << 1, /* the user stack goes on past the bytes that were copied */
	EVENT_F_COMPAT = 1 << 2,    /* 32-bit registers */
	EVENT_F_RUNNABLE = 1 << 3,  /* runnable_ns is known */
};

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
#define EVENT_KSTACK_MAX 127 /* frames, kernel.perf_event_max_stack's default */
#define EVENT_REG_CNT	 17 /* x86-64 in DWARF order: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip */
#define EVENT_RED_ZONE \
	128 /* bytes below the stack pointer that leaf functions use (x86-64 psABI 3.2.2) */
#define EVENT_STACK_MAX (1u << 20)

/* Fixed part of an event; kernel pcs (leaf first), then user stack bytes follow in data[]. */
struct event {
	__u64 time_ns;	   /* CLOCK_MONOTONIC, end of the event */
	__u64 duration_ns; /* what it spans depends on the kind */
	__u64 amount, id;
	__u64 runnable_ns; /* switch: waited for a CPU before the slice; valid with EVENT_F_RUNNABLE
			    */
	__u64 cgroup_id;   /* inode of the cgroup v2 folder */
	__u64 stack_addr;  /* address of the first user stack byte: stack pointer less the red zone
			    */
	__u64 regs[EVENT_REG_CNT];
	__u32 tgid, tid; /* process, thread */
	__u32 target;
	__u16 cpu;
	__u8 kind, state;	    /* enum event_kind, enum event_state */
	__u32 flags;		    /* enum event_flags */
	__u32 weight;		    /* events that this one stands for */
	__u32 kstack_sz, ustack_sz; /* bytes */
	char comm[EVENT_COMM_SZ];   /* of the process: its first thread's */
	char thread[EVENT_COMM_SZ]; /* of the thread */
	__u8 data[];
};
_Static_assert(sizeof(struct event) == 7 * 8 + EVENT_REG_CNT * 8 + 32 + 2 * EVENT_COMM_SZ,
	       "no padding");

#endif
