/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What user space decides before the BPF programs are loaded: constants to the verifier, so that
 * code for what is switched off, or what this kernel lacks, is never checked nor run. */
#ifndef BPF_CONFIG_H
#define BPF_CONFIG_H

#include <linux/types.h>

#include "bpf/event.h"

/* Scratch slots per CPU: one for each context that can interrupt another while it captures (a
 * preempted iterator, a task, an interrupt, an NMI). */
#define CAPTURE_LEVELS 4

#define CAPTURE_PAGE EVENT_PAGE

/* User memory goes through a bounce buffer of this size where cfg.bounce says so; see
 * src/capture/usercopy.c. Divides a page. */
#define CAPTURE_BOUNCE_SZ 2048

/* How far a copy page by page has come, counted from the event's stack_addr on. */
struct capture_progress {
	__u32 want, seen; /* bytes: wanted, and looked at so far */
	__u32 end;	  /* up to here, the last bytes that were there */
	__u32 got;	  /* bytes that were there */
	__u64 at;	  /* where the copy is in data[] */
	__u64 missing;	  /* pages */
	__u64 holes[EVENT_HOLES_SZ / sizeof(__u64)];
};

/* The beginning of Go's g, and what it says of where the goroutine stopped (runtime/runtime2.go).
 * Up to Go 1.24 a word more was between ctxt and bp. */
struct capture_goroutine {
	__u64 lo, hi; /* of its stack */
	__u64 guards[2], panic, defer;
	__u64 m;
	__u64 sp, pc, g, ctxt; /* sched */
	__u64 rest[3];	       /* …, bp */
	__u64 fp;	       /* not the g's: which of them is bp */
	__u64 curg;
	__u64 here; /* the g of the stack that the thread is on, as far as is known */
};

#define CAPTURE_RUNTIMES_MAX 1024 /* executable files */
#define CAPTURE_CALL_WORDS   10	  /* that are read of an interpreter's frame */
#define CAPTURE_NOT_INDIRECT (~0u)

/*
 * Where an interpreter keeps the calls of a thread: a linked list that begins in the thread's
 * state. The same for all processes of one executable file. In the map `runtimes`, by the inode
 * number of that file; a false match is noticed, because the state has the thread's own id.
 */
struct capture_runtime {
	__s64 state_off[2]; /* from the thread pointer: words that may have the state's address; the
			       second may be the first again */
	__s64 self_off;	    /* from the thread pointer: what the state has as the thread's id */
	__u32 id_off;	    /* bytes, in the state */
	__u32 first_off;    /* bytes, in the state: the first frame's address */
	__u32 indirect;	    /* bytes: that word points to a struct with the address there instead */
	__u32 code, previous, instr, word; /* words of a frame */
	__u32 cookie_off;		   /* bytes, in a function: of these words */
	__u32 cookie[3];
	__u64 code_mask; /* the bits of a function's address; the others are tags */
	__u32 layout;	 /* for user space */
	__u32 unused;
};

#define CAPTURE_WINDOW_WORDS 256 /* 2 KiB, at most CAPTURE_BOUNCE_SZ */

/* How far the list has been followed. */
struct capture_calls {
	struct capture_runtime runtime;
	__u64 next, cnt;
	__u64 at;	    /* of the event_runtime in data[] */
	__u64 base;	    /* see there */
	__u64 window;	    /* address of words[0]; 0: nothing is there */
	__u64 before;	    /* address of the last frame */
	__u64 code, cookie; /* of the last frame */
	/* The window, a single frame, a function; so many that a masked index is inside. */
	__u64 words[2 * CAPTURE_WINDOW_WORDS];
};

/* Bytes of data[] before an event_switched, at most. */
#define CAPTURE_BEFORE_SWITCHED(stack_sz) \
	(EVENT_DETAIL_MAX + EVENT_KSTACK_MAX * sizeof(__u64) + (stack_sz) + EVENT_HOLES_SZ)

/* Bytes of data[] before an event_runtime, at most. */
#define CAPTURE_BEFORE_RUNTIME(stack_sz) \
	(CAPTURE_BEFORE_SWITCHED(stack_sz) + sizeof(struct event_switched) + EVENT_SWITCHED_MAX)

#define CAPTURE_RUNTIME_SZ \
	(sizeof(struct event_runtime) + EVENT_CALLS_MAX * sizeof(struct event_call))

/* Where an event is put together. */
struct capture_slot {
	__u32 busy, idx;
	__u64 event_sz;	 /* bytes of the event, when it is complete */
	__u64 top_known; /* not 0: something says where the stack ends */
	struct capture_progress progress;
	struct capture_goroutine goroutine;
	struct capture_signal signal;
	struct capture_calls calls;
	struct event event;
};

/* The stacks of an event, and of whom. */
enum capture_how {
	CAPTURE_USER = 1 << 0,
	CAPTURE_KERNEL = 1 << 1,
	CAPTURE_OTHER = 1 << 2, /* of a task that is not current: its kernel stack, its registers */
	CAPTURE_FAULT = 1 << 3, /* of another task, user memory too: sleepable programs only */
};

/* Of a process in the map `targets`, where others have the start time of their first thread: it is
 * recorded from its next exec on. */
#define CAPTURE_FROM_EXEC (~0ULL)

struct capture_config {
	__u64 param[EVENT_KIND_CNT]; /* of the kind's probe: Hz, ns … */
	__u64 pace_ns; /* a kind's events on one CPU come at most this often in the long run; 0: no
			  limit */
	__u32 how[EVENT_KIND_CNT]; /* CAPTURE_USER, CAPTURE_KERNEL */
	__s64 preempt_count_off; /* from a CPU's run queue to its preemption count; 0: not known */
	__u32 interrupt_bits;	 /* of that count: in a hard or soft interrupt */
	__u32 cpu_cnt;		 /* possible CPUs */
	__u32 stack_sz;		 /* bytes of user stack at most */
	__u32 signal_fpu_sz;	 /* of what the kernel puts on a signal stack first */
	__u32 wakeup_sz;	 /* bytes in a ring from which on user space is woken */
	__u32 exclude_tgids[2];	 /* the collector and its keeper; 0: none */
	__u32 bounce;		 /* user memory is read through the map `bounces` */
	__u32 accept_args;	 /* of the kernel's function inet_accept() */
	__u32 retransmit_has_error; /* the tracepoint tcp_retransmit_skb says how it went (6.17) */
	__u32 has_prev_state; /* the tracepoint sched_switch says in which state prev left (5.18) */
	__u32 spans;	      /* the probe usdt is on */
	__u32 runtimes;	      /* calls of interpreted programs are captured */
	__u32 who;	      /* only processes in `targets`, threads in `tids`, names in `comms` */
	__u32 tid_cnt, comm_cnt, uid_cnt, cgroup_cnt;
	__u32 page_sz; /* bytes in a page of the kernel */
};

#endif
