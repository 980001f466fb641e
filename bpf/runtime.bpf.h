/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures the calls of the program that an interpreter runs (src/runtime/). A bounded loop reads
 * the interpreter's own frames, about 80 bytes each. A process without an interpreter costs one
 * look-up.
 */
#ifndef RUNTIME_BPF_H
#define RUNTIME_BPF_H

#include "bpf/php.bpf.h"
#include "bpf/ruby.bpf.h"
#include "bpf/user.bpf.h"

/* Keys are inode numbers of executable files, so that an exec or fork of a known file needs no
 * message from user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, struct capture_runtime);
	__uint(max_entries, CAPTURE_RUNTIMES_MAX);
} runtimes SEC(".maps");

static __always_inline const struct capture_runtime *runtime__of(const struct mm_struct *mm)
{
	__u64 ino = mm->exe_file->f_inode->i_ino;

	return bpf_map_lookup_elem(&runtimes, &ino);
}

/* Returns the address of the thread's state. 0: there is none, or it belongs to another thread. */
static __always_inline __u64 calls__state(const struct user *u, const struct capture_runtime *r)
{
	__u64 tp = task__thread_pointer(u->task), state, id;

	if (php__is(r))
		return php__state(u, r);
	if (r->place != CAPTURE_IN_THREAD)
		return 0;
	if (!tp)
		return 0;
	state = user__word(u, tp + r->state_off[0]);
	if (!state && r->state_off[1] != r->state_off[0])
		state = user__word(u, tp + r->state_off[1]);
	if (state && r->key_off)
		state = user__word(u, state + r->key_off - 1);
	id = state;
	if (id && r->id_path[0])
		id = user__word(u, id + r->id_path[0]);
	if (id && r->id_path[1])
		id = user__word(u, id + r->id_path[1]);
	return id && user__word(u, id + r->id_off) == tp + r->self_off ? state : 0;
}

#define WINDOW_SZ (CAPTURE_WINDOW_WORDS * sizeof(__u64))
#define CALL_SZ	  (CAPTURE_CALL_WORDS * sizeof(__u64))
#define OBJECT_SZ (CAPTURE_OBJECT_WORDS * sizeof(__u64))
#define SINGLE	  CAPTURE_WINDOW_WORDS /* words of a frame that is not in the window */
#define FUNCTION  (CAPTURE_WINDOW_WORDS + 16)

/* Returns 0 if the function cannot be read. Recursive calls of one function read it once. */
static __always_inline __u64 call__cookie(const struct user *u, const struct capture_runtime *r,
					  struct capture_calls *calls, __u64 code)
{
	const __u64 *words = calls->words;

	if (php__is(r))
		return php__cookie(u, calls, code);
	if (code == calls->code)
		return calls->cookie;
	calls->code = code;
	calls->cookie = 0;
	if (code && !user__read(u, calls->words + FUNCTION, CALL_SZ, code + r->cookie_off))
		calls->cookie = EVENT_COOKIE(words[WORD(FUNCTION + r->cookie[0])],
					     words[WORD(FUNCTION + r->cookie[1])],
					     words[WORD(FUNCTION + r->cookie[2])]);
	return calls->cookie;
}

/* Reads the window that ends with this frame: callers mostly lie below. */
static __always_inline bool window__move(const struct user *u, struct capture_calls *calls,
					 __u64 at)
{
	__u64 begin = at + CALL_SZ - WINDOW_SZ;

	calls->window = user__read(u, calls->words, WINDOW_SZ, begin) ? 0 : begin;
	return calls->window;
}

/*
 * Returns the index of the frame's words, or NO_WORDS. A read costs some 70 ns, however short it
 * is, and frames mostly lie one after the other, so a window of them is read at once. Frames of
 * generators, and those on the C stack, lie elsewhere and are read alone.
 */
static __always_inline __u64 frame__read(const struct user *u, struct capture_calls *calls,
					 __u64 at)
{
	__u64 before = calls->before, off = calls->runtime.frame_off;

	if (off)
		return user__read(u, calls->words + SINGLE, OBJECT_SZ, at + off) ? NO_WORDS
										 : SINGLE;
	calls->before = at;
	if (calls->window && at - calls->window <= WINDOW_SZ - CALL_SZ)
		return (at - calls->window) / sizeof(__u64);
	if (before - at <= WINDOW_SZ && window__move(u, calls, at))
		return (WINDOW_SZ - CALL_SZ) / sizeof(__u64);
	return user__read(u, calls->words + SINGLE, CALL_SZ, at) ? NO_WORDS : SINGLE;
}

/* Appends one call. Returns whether it was the last one. */
static __always_inline long call__copy(const struct user *u)
{
	struct capture_calls *calls = &slot__of(u->event)->calls;
	const struct capture_runtime *r = &calls->runtime;
	__u64 at = calls->next, word;
	struct event_call *call;

	if (!at || calls->cnt >= EVENT_CALLS_MAX)
		return 1;
	word = frame__read(u, calls, at);
	if (word == NO_WORDS)
		return 1;
	call = call__room(u, calls);
	if (!call)
		return 1;
	call->at = at;
	call->code = calls->words[WORD(word + r->code)];
	call->instr = calls->words[WORD(word + r->instr)];
	call->word = calls->words[WORD(word + r->word)];
	calls->next = calls->words[WORD(word + r->previous)];
	calls->cnt++;
	call->cookie = call__cookie(u, r, calls, call->code & r->code_mask);
	if (php__is(r)) {
		call->word &= ~CAPTURE_PHP_DESCRIBED;
		php__describe(u, calls, call);
	}
	return 0;
}

static long call__copy_next(__u64 i, struct user *u)
{
	(void)i;
	return call__copy(u);
}

static long ruby__copy_next(__u64 i, struct user *u)
{
	(void)i;
	return ruby__copy(u);
}

#define CALLS_UNROLLED_MAX 128 /* without bpf_loop(), the verifier checks every iteration */

static __always_inline void ruby__follow(struct user *u)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(EVENT_CALLS_MAX, ruby__copy_next, u, 0);
		return;
	}
	for (__u64 i = 0; i < CALLS_UNROLLED_MAX; i++) {
		if (ruby__copy(u))
			break;
	}
}

static __always_inline void list__follow(struct user *u)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(EVENT_CALLS_MAX, call__copy_next, u, 0);
		return;
	}
	for (__u64 i = 0; i < CALLS_UNROLLED_MAX; i++) {
		if (call__copy(u))
			break;
	}
}

/* Finds the first frame of the list; there may be none. */
static __always_inline void list__begin(const struct user *u, struct capture_calls *calls,
					__u64 state)
{
	const struct capture_runtime *r = &calls->runtime;
	__u64 base = user__word(u, state + r->first_off);

	calls->base = base;
	calls->next = base;
	if (base && r->indirect != CAPTURE_NOT_INDIRECT)
		calls->next = user__word(u, base + r->indirect);
	calls->before = calls->next; /* the innermost frame begins a window */
	if (php__is(r))
		__builtin_memset(calls->known, 0, sizeof(calls->known));
}

/* Finds the first frame; there may be none. */
static __always_inline void calls__begin(const struct user *u, struct capture_calls *calls)
{
	__u64 state = calls__state(u, &calls->runtime);

	calls->cnt = calls->window = calls->code = calls->cookie = calls->next = 0;
	if (!state)
		return;
	if (calls->runtime.frame_sz)
		ruby__begin(u, calls, state);
	else
		list__begin(u, calls, state);
}

/* Finds the thread's innermost call. */
static __always_inline void calls__find(const struct user *u, struct event *e)
{
	struct capture_calls *calls = &slot__of(e)->calls;
	const struct capture_runtime *runtime = runtime__of(u->mm);

	calls->next = 0;
	if (!runtime)
		return;
	calls->runtime = *runtime;
	calls__begin(u, calls);
}

/* Appends the calls after the first `at` bytes of data[]. Returns their size in bytes. */
static __always_inline __u64 calls__copy(struct user *u, struct event *e, __u64 at)
{
	struct capture_calls *calls = &slot__of(e)->calls;
	struct event_runtime *out;

	if (!calls->next)
		return 0;
	calls->at = at;
	if (calls->runtime.frame_sz)
		ruby__follow(u);
	else
		list__follow(u);
	at = calls->at;
	OPAQUE(at);
	if (at > CAPTURE_BEFORE_RUNTIME(cfg.stack_sz))
		return 0;
	out = (void *)(e->data + at);
	out->base = calls->base;
	out->layout = calls->runtime.layout;
	out->cut = calls->next;
	e->call_cnt = calls->cnt;
	e->flags |= EVENT_F_RUNTIME;
	return sizeof(*out) + calls->cnt * sizeof(struct event_call);
}

#endif
