/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of the program that an interpreter runs (src/runtime/). A bounded loop reads the
 * interpreter's own frames, some 80 bytes each. A process without an interpreter pays one look-up.
 */
#ifndef RUNTIME_BPF_H
#define RUNTIME_BPF_H

#include "bpf/user.bpf.h"

/* By the inode number of the executable file: an exec or a fork of a known one needs no news. */
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

static __always_inline __u64 user__word(const struct user *u, __u64 addr)
{
	__u64 word = 0;

	return user__read(u, &word, sizeof(word), addr) ? 0 : word;
}

/* What the thread's state refers to: the first frame, or where that is. 0: no such state, or it is
 * another thread's. */
static __always_inline __u64 calls__base(const struct user *u, const struct capture_runtime *r)
{
	__u64 tp = task__thread_pointer(u->task), state;

	if (!tp)
		return 0;
	state = user__word(u, tp + r->state_off[0]);
	if (!state && r->state_off[1] != r->state_off[0])
		state = user__word(u, tp + r->state_off[1]);
	if (!state || user__word(u, state + r->id_off) != tp + r->self_off)
		return 0;
	return user__word(u, state + r->first_off);
}

struct call_copy {
	const struct user *user;
	struct event *event;
	const struct capture_runtime *runtime;
	__u64 at; /* of the event_runtime in data[] */
};

#define WORD(index) ((index)&15)

/* Overwrites the words of the frame. 0: the function cannot be read. */
static __always_inline __u64 call__cookie(const struct user *u, const struct capture_runtime *r,
					  struct capture_calls *calls, __u64 code)
{
	const __u64 *words = calls->words;

	if (!code || user__read(u, calls->words, sizeof(calls->words), code + r->cookie_off))
		return 0;
	return EVENT_COOKIE(words[WORD(r->cookie[0])], words[WORD(r->cookie[1])],
			    words[WORD(r->cookie[2])]);
}

/* Appends one call. Returns whether it was the last. */
static __always_inline long call__copy(const struct call_copy *c)
{
	const struct capture_runtime *r = c->runtime;
	struct capture_calls *calls = &slot__of(c->event)->calls;
	__u64 at = calls->next, cnt = calls->cnt, data_at = c->at;
	struct event_call *call;

	OPAQUE(cnt);
	OPAQUE(data_at);
	if (!at || cnt >= EVENT_CALLS_MAX || data_at > CAPTURE_BEFORE_RUNTIME(cfg.stack_sz))
		return 1;
	if (user__read(c->user, calls->words, sizeof(calls->words), at))
		return 1;
	call = (void *)(c->event->data + data_at + sizeof(struct event_runtime) +
			cnt * sizeof(*call));
	call->at = at;
	call->code = calls->words[WORD(r->code)];
	call->instr = calls->words[WORD(r->instr)];
	call->word = calls->words[WORD(r->word)];
	calls->next = calls->words[WORD(r->previous)];
	calls->cnt = cnt + 1;
	call->cookie = call__cookie(c->user, r, calls, call->code & r->code_mask);
	return 0;
}

static long call__copy_next(__u64 i, struct call_copy *c)
{
	(void)i;
	return call__copy(c);
}

#define CALLS_UNROLLED_MAX 128 /* without bpf_loop() the verifier goes through every round */

static __always_inline void calls__follow(struct call_copy *c)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(EVENT_CALLS_MAX, call__copy_next, c, 0);
		return;
	}
	for (__u64 i = 0; i < CALLS_UNROLLED_MAX; i++) {
		if (call__copy(c))
			break;
	}
}

/* Puts the calls behind the `at` bytes that data[] has already; how many bytes they are. */
static __always_inline __u64 calls__copy(const struct user *u, struct event *e, __u64 at)
{
	const struct capture_runtime *r = runtime__of(u->mm);
	struct capture_calls *calls = &slot__of(e)->calls;
	struct call_copy c = { u, e, r, at };
	struct event_runtime *out;
	__u64 base;

	OPAQUE(at);
	if (!r || at > CAPTURE_BEFORE_RUNTIME(cfg.stack_sz))
		return 0;
	base = calls__base(u, r);
	calls->cnt = 0;
	calls->next = r->indirect == CAPTURE_NOT_INDIRECT || !base
			      ? base
			      : user__word(u, base + r->indirect);
	if (!calls->next)
		return 0;
	calls__follow(&c);
	out = (void *)(e->data + at);
	out->base = base;
	out->layout = r->layout;
	out->cnt = calls->cnt;
	out->cut = calls->next;
	e->flags |= EVENT_F_RUNTIME;
	return sizeof(*out) + calls->cnt * sizeof(struct event_call);
}

#endif
