/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of CRuby that are read: indexes of struct runtime_layout.at, and what is the same in
 * all versions. */
#ifndef RUNTIME_RUBY_LAYOUT_H
#define RUNTIME_RUBY_LAYOUT_H

#include "runtime/runtime.h"

enum ruby_at {
	RUBY_THREAD_NATIVE,    /* rb_thread_t.nt, or RUBY_NONE: the thread has its id itself */
	RUBY_ID,	       /* pthread_self() in struct rb_native_thread, or in rb_thread_t */
	RUBY_THREAD_EC,	       /* rb_thread_t.ec */
	RUBY_FRAME_SIZE,       /* sizeof(rb_control_frame_t) */
	RUBY_BODY_INFO,	       /* rb_iseq_constant_body.insns_info */
	RUBY_EMBEDDED_TEXT,    /* RString: a text without memory of its own */
	RUBY_HAS_BOXED_LINE,   /* 1: the first line is a VALUE */
	RUBY_HAS_FLAGS_LENGTH, /* 1: the length of such a text is in RBasic.flags */
	RUBY_AT_CNT
};

#define RUBY_NONE 0

_Static_assert(RUBY_AT_CNT <= RUNTIME_OFFSETS, "room");

#define RUBY_VM_MAIN_THREAD 40 /* rb_vm_t.ractor.main_thread */
#define RUBY_THREAD_VM	    32 /* rb_thread_t.vm */
#define RUBY_EC_THREAD	    48 /* rb_execution_context_t.thread_ptr */

/* VALUEs. */
#define RUBY_TYPE_MASK	 0x1f
#define RUBY_TYPE_STRING 0x05
#define RUBY_TYPE_ARRAY	 0x07
#define RUBY_TYPE_IMEMO	 0x1a
#define RUBY_FLAG_USER1	 (1u << 13) /* RString: not embedded. RArray: embedded. */

/* Symbols: struct symbols (symbol.h) in words; ids is an array of arrays of {name, symbol}. */
#define RUBY_SYMBOLS_IDS    2
#define RUBY_SYMBOLS_WORDS  4
#define RUBY_IDS_IN_ARRAY   512
#define RUBY_OPERATOR_MAX   1024 /* an id below is an operator's, and its own number */
#define RUBY_ID_SCOPE_SHIFT 4

/*
 * Finds the version and the places in memory. Sets layout->heaps to the table of symbols, and *ec
 * to the execution context of the main thread. Returns 0, -EAGAIN or -ENOTSUP.
 */
enum ruby_symbol { RUBY_API_VERSION, RUBY_OBJECT, RUBY_STDOUT, RUBY_CURRENT_VM };
int ruby__find_layout(struct remote *, const uint64_t *symbols, struct runtime_layout *,
		      uint64_t *ec);

/* Returns an element of an Array, or 0. */
uint64_t ruby__element(struct remote *, uint64_t array, uint64_t index);
/* Reads a String, cut to sz - 1 bytes. Returns false if there is none. */
bool ruby__text(struct remote *, const struct runtime_layout *, uint64_t string, char *text,
		size_t sz);

int ruby__read(struct remote *, const struct runtime_layout *, uint64_t code,
	       struct script_function *);
uint64_t ruby__cookie(struct remote *, uint64_t code);
enum managed_result ruby__step(struct code_walk *, struct managed_frame *);
size_t ruby__split(const struct runtime_calls *, struct runtime_run *runs);
bool ruby__waits_for_turn(const struct runtime_layout *, const struct snapshot *,
			  struct stack_part);

#endif
