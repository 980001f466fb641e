/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures the calls of a Ruby program (src/runtime/ruby.c). The control frames of a thread lie one
 * after the other at the end of its VM stack, the innermost first. Their environments (local
 * variables and flags) lie at the start of that stack. A window of each is read at once.
 */
#ifndef RUBY_BPF_H
#define RUBY_BPF_H

#include "bpf/user.bpf.h"

#define WORD(index) ((index) & (2 * CAPTURE_WINDOW_WORDS - 1))
#define NO_WORDS    (~0ULL)

/* Places in calls->words: the frames, the environments, one environment, one function. */
#define RUBY_WINDOW_WORDS (CAPTURE_WINDOW_WORDS / 2)
#define RUBY_WINDOW_SZ	  (RUBY_WINDOW_WORDS * sizeof(__u64))
#define RUBY_ENVS	  RUBY_WINDOW_WORDS
#define RUBY_SINGLE	  CAPTURE_WINDOW_WORDS
#define RUBY_FUNCTION	  (CAPTURE_WINDOW_WORDS + 16)

/* rb_control_frame_t, in words; the words from ep[-2] on; rb_execution_context_t. */
enum { RUBY_PC = 0, RUBY_ISEQ = 2, RUBY_EP = 4, RUBY_FRAME_WORDS = 5 };
enum { RUBY_ENV_METHOD = 0, RUBY_ENV_FLAGS = 2, RUBY_ENV_WORDS = 3 };
enum { RUBY_EC_STACK = 0, RUBY_EC_STACK_WORDS, RUBY_EC_FRAME, RUBY_EC_TAG, RUBY_EC_WORDS };

#define RUBY_STACK_WORDS_MAX (1ULL << 24)
#define RUBY_FRAME_TYPE	     0x7fff0001ULL /* VM_FRAME_MAGIC_MASK */
#define RUBY_FRAME_IFUNC     0x66660001ULL
#define RUBY_FRAME_DUMMY     0x79990001ULL

/* Returns the place of one more call, or NULL. */
static __always_inline struct event_call *call__room(const struct user *u,
						     const struct capture_calls *calls)
{
	__u64 off =
		calls->at + sizeof(struct event_runtime) + calls->cnt * sizeof(struct event_call);

	OPAQUE(off);
	if (off >
	    CAPTURE_BEFORE_RUNTIME(cfg.stack_sz) + CAPTURE_RUNTIME_SZ - sizeof(struct event_call))
		return NULL;
	return (void *)(u->event->data + off);
}

static __always_inline void ruby__begin(const struct user *u, struct capture_calls *calls,
					__u64 state)
{
	const __u64 *words = calls->words;
	__u64 low, cnt, frame;

	if (user__read(u, calls->words, RUBY_EC_WORDS * sizeof(*words), state))
		return;
	low = words[RUBY_EC_STACK];
	cnt = words[RUBY_EC_STACK_WORDS];
	frame = words[RUBY_EC_FRAME];
	if (cnt < RUBY_WINDOW_WORDS || cnt > RUBY_STACK_WORDS_MAX || frame % sizeof(*words))
		return;
	calls->low = low;
	calls->end = low + cnt * sizeof(*words);
	calls->base = words[RUBY_EC_TAG];
	calls->before = 0;
	__builtin_memset(calls->known, 0, sizeof(calls->known));
	if (frame - low < calls->end - low)
		calls->next = frame;
}

/* Returns the index of the frame's words, or NO_WORDS. The window begins with this frame: the
 * memory below may not have been touched yet. */
static __always_inline __u64 ruby__frame(const struct user *u, struct capture_calls *calls,
					 __u64 at)
{
	__u64 sz = calls->end - at;

	if (calls->window &&
	    at - calls->window <= RUBY_WINDOW_SZ - RUBY_FRAME_WORDS * sizeof(__u64))
		return (at - calls->window) / sizeof(__u64);
	if (sz > RUBY_WINDOW_SZ)
		sz = RUBY_WINDOW_SZ;
	OPAQUE(sz);
	if (sz > RUBY_WINDOW_SZ)
		return NO_WORDS;
	calls->window = user__read(u, calls->words, sz, at) ? 0 : at;
	return calls->window ? 0 : NO_WORDS;
}

/*
 * Returns the index of the words from ep[-2] on, or NO_WORDS. The window ends with this
 * environment: those of callers mostly lie below. If a block has become an object, its environment
 * lies elsewhere and is read alone.
 */
static __always_inline __u64 ruby__env(const struct user *u, struct capture_calls *calls, __u64 ep)
{
	__u64 at = ep - RUBY_ENV_FLAGS * sizeof(__u64);
	__u64 begin = at + RUBY_ENV_WORDS * sizeof(__u64) - RUBY_WINDOW_SZ, left_out = 0;

	if (at - calls->low >= calls->end - calls->low)
		return user__read(u, calls->words + RUBY_SINGLE, RUBY_ENV_WORDS * sizeof(__u64), at)
			       ? NO_WORDS
			       : RUBY_SINGLE;
	if (calls->before && at - calls->before <= RUBY_WINDOW_SZ - RUBY_ENV_WORDS * sizeof(__u64))
		return RUBY_ENVS + (at - calls->before) / sizeof(__u64);
	if ((__s64)(calls->low - begin) > 0)
		left_out = calls->low - begin;
	OPAQUE(left_out);
	if (left_out > RUBY_WINDOW_SZ)
		return NO_WORDS;
	calls->before = user__read(u, (void *)(calls->words + RUBY_ENVS) + left_out,
				   RUBY_WINDOW_SZ - left_out, begin + left_out)
				? 0
				: begin;
	return calls->before ? RUBY_ENVS + (at - begin) / sizeof(__u64) : NO_WORDS;
}

/* Returns 0 if the function cannot be read. */
static __always_inline __u64 ruby__read_cookie(const struct user *u, struct capture_calls *calls,
					       __u64 code)
{
	__u64 *words = calls->words + RUBY_FUNCTION, body;

	if (code & CAPTURE_RUBY_CFUNC) {
		if (user__read(u, words, 3 * sizeof(*words),
			       code - CAPTURE_RUBY_CFUNC + CAPTURE_RUBY_DEF))
			return 0;
		return EVENT_COOKIE(words[0], words[1], words[2]);
	}
	body = user__word(u, code + CAPTURE_RUBY_BODY);
	if (!body || user__read(u, words, 2 * sizeof(*words), body + CAPTURE_RUBY_PATH))
		return 0;
	return EVENT_COOKIE(body, words[0], words[1]);
}

/* Reads each function once: most of them are several times on a stack (`each`, and its block). */
static __always_inline __u64 ruby__cookie(const struct user *u, struct capture_calls *calls,
					  __u64 code)
{
	__u64 i = (code >> 3 ^ code >> 7) & (CAPTURE_KNOWN - 1);

	OPAQUE(i);
	i &= CAPTURE_KNOWN - 1;
	if (calls->known[i].code != code) {
		calls->known[i].code = code;
		calls->known[i].cookie = ruby__read_cookie(u, calls, code);
	}
	return calls->known[i].cookie;
}

/* Fills a call. Returns false if the frame is none: as in Ruby's backtraces, frames of C blocks and
 * the one at the end are left out. */
static __always_inline bool ruby__fill(struct event_call *call, const __u64 *words, __u64 frame,
				       __u64 env)
{
	__u64 iseq = words[WORD(frame + RUBY_ISEQ)], pc = words[WORD(frame + RUBY_PC)];
	__u64 method = words[WORD(env + RUBY_ENV_METHOD)];
	__u64 flags = words[WORD(env + RUBY_ENV_FLAGS)], type = flags & RUBY_FRAME_TYPE;

	if (type == RUBY_FRAME_IFUNC || type == RUBY_FRAME_DUMMY)
		return false;
	call->word = flags;
	call->code = iseq;
	call->instr = pc;
	if (iseq)
		return pc;
	call->code = method | CAPTURE_RUBY_CFUNC;
	call->instr = 0;
	return method;
}

/* Appends the call of one frame. Returns whether it was the last one. */
static __always_inline long ruby__copy(const struct user *u)
{
	struct capture_calls *calls = &slot__of(u->event)->calls;
	__u64 at = calls->next, frame_sz = calls->runtime.frame_sz, frame, env;
	struct event_call *call;

	if (!at || calls->cnt >= EVENT_CALLS_MAX)
		return 1;
	frame = ruby__frame(u, calls, at);
	if (frame == NO_WORDS)
		return 1;
	env = ruby__env(u, calls, calls->words[WORD(frame + RUBY_EP)]);
	call = call__room(u, calls);
	if (env == NO_WORDS || !call)
		return 1;
	calls->next = calls->end - at > frame_sz ? at + frame_sz : 0;
	if (!ruby__fill(call, calls->words, frame, env))
		return 0;
	call->at = at;
	call->cookie = ruby__cookie(u, calls, call->code);
	calls->cnt++;
	return 0;
}

#endif
