/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What user space decides before it loads the BPF programs. These are constants for the verifier,
 * so code that is switched off, or that this kernel does not support, is neither checked nor run.
 */
#ifndef BPF_CONFIG_H
#define BPF_CONFIG_H

#include <linux/types.h>

#include "bpf/event.h"

/* Scratch slots per CPU: one for each context that can interrupt another while it captures (a
 * preempted iterator, a task, an interrupt, an NMI). */
#define CAPTURE_LEVELS 4

#define CAPTURE_PAGE EVENT_PAGE

/* User memory is copied through a bounce buffer of this size if cfg.bounce is set; see
 * src/capture/usercopy.c. It divides a page. */
#define CAPTURE_BOUNCE_SZ 2048

/* Progress of a copy page by page, counted from the event's stack_addr. */
struct capture_progress {
	__u32 want, seen; /* bytes: wanted, and tried so far */
	__u32 end;	  /* end of the last bytes that were present */
	__u32 got;	  /* bytes that were present */
	__u64 at;	  /* offset of the copy in data[] */
	__u64 missing;	  /* pages */
	__u64 holes[EVENT_HOLES_SZ / sizeof(__u64)];
};

/* The beginning of Go's g, and where the goroutine stopped (runtime/runtime2.go). Up to Go 1.24
 * there was one more word between ctxt and bp. */
struct capture_goroutine {
	__u64 lo, hi; /* of its stack */
	__u64 guards[2], panic, defer;
	__u64 m;
	__u64 sp, pc, g, ctxt; /* sched */
	__u64 rest[3];	       /* …, lr, bp */
	__u64 fp;	       /* not part of the g: bp and lr */
	__u64 link;
	__u64 curg;
	__u64 here; /* the g of the stack that the thread is on, if known */
	__u64 away; /* not 0: the thread is not on the stack of `here` */
};

#define CAPTURE_RUNTIMES_MAX 1024 /* executable files */
#define CAPTURE_CALL_WORDS   10	  /* words read from an interpreter's frame */
#define CAPTURE_OBJECT_WORDS 11	  /* words read from one that is an object */
#define CAPTURE_NOT_INDIRECT (~0u)

/*
 * Where an interpreter keeps the calls of a thread: in a linked list that begins in the thread's
 * state, or one after the other. It is the same for all processes of one executable file. The key
 * in the map `runtimes` is the inode number of that file. A false match is noticed, because the
 * state has the thread's own id.
 */
struct capture_runtime {
	/* offset from the thread pointer: words that may have the address of the state; the second
	 * may be equal to the first */
	__s64 state_off[2];
	/* offset from the thread pointer: the value that the state has as the thread's id */
	__s64 self_off;
	/* bytes: pointers from the state to the struct with the id; 0: none */
	__u32 id_path[2];
	__u32 id_off;	 /* bytes, in that struct */
	__u32 first_off; /* bytes, in the state: the address of the first frame */
	/* bytes: if set, that word points to a struct that has the address here */
	__u32 indirect;
	__u32 code, previous, instr, word; /* words of a frame */
	/* bytes, in a function: start of these words; PHP: see CAPTURE_PHP_DESCRIBED */
	__u32 cookie_off;
	__u32 cookie[3];
	__u64 code_mask; /* the bits of a function's address; the other bits are tags */
	__u32 layout;	 /* for user space */
	__u32 frame_sz;	 /* bytes; not 0: Ruby's frames, which lie one after the other */
	__u32 frame_off; /* bytes; not 0: frames are objects, and their words begin here */
	__u32 place;	 /* enum capture_place */
	/* bytes, plus 1: those words point to an array that has the state's address here; 0: they
	 * have it themselves */
	__u32 key_off;
};

/* Where the state is: the thread's own, or PHP's variable. state_off[0] is its address, or counts
 * from where the code of the executable file begins. */
enum capture_place { CAPTURE_IN_THREAD, CAPTURE_IN_EXECUTABLE, CAPTURE_AT_ADDRESS };

#define CAPTURE_WINDOW_WORDS 256 /* 2 KiB, at most CAPTURE_BOUNCE_SZ */

/*
 * Ruby (vm_core.h, method.h). A call of a C method has the address of its method entry, with this
 * bit, in place of an instruction sequence. The cookie is made of three words of the method entry
 * from `def` on, or of the address of an instruction sequence's body and two of its words, which
 * are on one line of the cache.
 */
#define CAPTURE_RUBY_CFUNC 1
#define CAPTURE_RUBY_BODY  16 /* bytes: rb_iseq_t.body */
#define CAPTURE_RUBY_DEF   16 /* bytes: rb_callable_method_entry_t.def */
#define CAPTURE_RUBY_PATH  64 /* bytes: pathobj of a body; base_label follows */

/*
 * PHP (zend_compile.h, zend_string.h). The cookie has the function's type in its lowest bits. It is
 * made of words of the function: of one in C its name, class and handler, of another one the
 * length and the first bytes of its name, its code, and the hash of its file's name: 0 if PHP has
 * not needed it. capture_runtime.cookie has the indexes of handler, code and file.
 *
 * A function's memory may be gone when it is read: a closure's, or a script's at the end of a
 * request. What it points to stays. A call with CAPTURE_PHP_DESCRIBED in its word is followed by
 * such words in place of a call: .at name, .code class, .instr code, .word file, .cookie the number
 * of its instructions, and its first line in the high 32 bits. That number is in the word before
 * .code, from bit capture_runtime.cookie_off on: 0 or 32.
 */
#define CAPTURE_PHP_DESCRIBED	   (1ULL << 63)
#define CAPTURE_PHP_FUNCTION_WORDS 23
#define CAPTURE_PHP_TYPES	   7
#define CAPTURE_PHP_INTERNAL	   1 /* ZEND_INTERNAL_FUNCTION */
#define CAPTURE_PHP_NAME	   1 /* words of a function */
#define CAPTURE_PHP_CLASS	   2
#define CAPTURE_PHP_HASH	   1 /* words of a zend_string */
#define CAPTURE_PHP_LENGTH	   2
#define CAPTURE_PHP_STRING_WORDS   5
/* What lies behind a text of less than 8 bytes is not its own. */
#define CAPTURE_PHP_TEXT(words)                           \
	EVENT_COOKIE(words[CAPTURE_PHP_LENGTH], words[3], \
		     words[CAPTURE_PHP_LENGTH] < 8 ? 0 : words[4])
#define CAPTURE_PHP_COOKIE(type, a, b, c) \
	((EVENT_COOKIE(a, b, c) & ~(__u64)CAPTURE_PHP_TYPES) | (type))

#define CAPTURE_KNOWN 16 /* a power of two */

/* Progress along the list. */
struct capture_calls {
	struct capture_runtime runtime;
	__u64 next, cnt;
	__u64 at;	/* offset of the event_runtime in data[] */
	__u64 base;	/* see there */
	__u64 window;	/* address of words[0]; 0: no list */
	__u64 before;	/* address of the last frame; Ruby: of the environments in words[] */
	__u64 low, end; /* Ruby: the VM's stack */
	struct {
		__u64 code, cookie;
	} known[CAPTURE_KNOWN]; /* Ruby, PHP: functions of this event by a hash */
	__u64 code, cookie;	/* of the last frame */
	/* Has the window, a single frame or a function. As many words as a masked index can reach.
	 */
	__u64 words[2 * CAPTURE_WINDOW_WORDS];
};

/* Upper limit of the bytes of data[] before an event_switched. */
#define CAPTURE_BEFORE_SWITCHED(stack_sz) \
	(EVENT_DETAIL_MAX + EVENT_KSTACK_MAX * sizeof(__u64) + (stack_sz) + EVENT_HOLES_SZ)

/* Upper limit of the bytes of data[] before an event_runtime. */
#define CAPTURE_BEFORE_RUNTIME(stack_sz) \
	(CAPTURE_BEFORE_SWITCHED(stack_sz) + sizeof(struct event_switched) + EVENT_SWITCHED_MAX)

#define CAPTURE_RUNTIME_SZ \
	(sizeof(struct event_runtime) + EVENT_CALLS_MAX * sizeof(struct event_call))

/* Progress along the kernel's list of replaced return addresses; in ustack.bpf.h. */
struct capture_returns {
	__u64 next, at, page;
};

/* The place where an event is built. */
struct capture_slot {
	__u32 busy, idx;
	__u64 event_sz;	 /* bytes of the complete event */
	__u64 top_known; /* not 0: the end of the stack is known */
	struct capture_progress progress;
	struct capture_goroutine goroutine;
	struct capture_signal signal;
	struct capture_returns returns;
	struct capture_calls calls;
	struct event event;
};

/* The stacks to capture, and the task. */
enum capture_how {
	CAPTURE_USER = 1 << 0,
	CAPTURE_KERNEL = 1 << 1,
	CAPTURE_OTHER = 1 << 2, /* a task that is not current: its kernel stack, its registers */
	CAPTURE_FAULT = 1 << 3, /* for another task, user memory too: sleepable programs only */
};

/* A process in the map `targets` has the start time of its first thread, or this value: it is
 * recorded from its next exec on. */
#define CAPTURE_FROM_EXEC (~0ULL)

struct capture_config {
	__u64 param[EVENT_KIND_CNT]; /* parameter of the kind's probe: Hz, ns … */
	/* smallest long-term average interval between events of a kind on one CPU; 0: no limit */
	__u64 pace_ns;
	__u32 how[EVENT_KIND_CNT]; /* CAPTURE_USER, CAPTURE_KERNEL */
	/* distance from a CPU's run queue to its preemption count; 0: not known */
	__s64 preempt_count_off;
	__u32 interrupt_bits; /* bits of that count: in a hard or soft interrupt */
	__u32 cpu_cnt;	      /* possible CPUs */
	__u32 stack_sz;	      /* largest size of a user stack in bytes */
	/* bytes of FPU state that the kernel puts on a signal stack first */
	__u32 signal_fpu_sz;
	__u32 wakeup_sz;	/* bytes in a ring at which user space is woken */
	__u32 exclude_tgids[3]; /* the collector, its keeper, the starter of its workers; 0: none */
	__u32 bounce;		/* user memory is read through the map `bounces` */
	__u32 accept_args;	/* number of arguments of the kernel's function inet_accept() */
	/* the tracepoint tcp_retransmit_skb reports the result (6.17) */
	__u32 retransmit_has_error;
	/* the tracepoint sched_switch reports the state in which prev left (5.18) */
	__u32 has_prev_state;
	__u32 thins;	/* `thinning` is in use */
	__u32 spans;	/* the probe usdt is on */
	__u32 runtimes; /* calls of interpreted programs are captured */
	__u32 who;	/* only processes in `targets`, threads in `tids`, names in `comms` */
	__u32 tid_cnt, comm_cnt, uid_cnt, cgroup_cnt;
	__u32 page_sz; /* bytes in a page of the kernel */
};

#endif
