/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures the calls of a PHP program (src/runtime/php.c). They are a linked list that begins in a
 * variable of the runtime's file, because a process has one interpreter, in its first thread.
 */
#ifndef PHP_BPF_H
#define PHP_BPF_H

#include "bpf/ruby.bpf.h"

#define PHP_FUNCTION (CAPTURE_WINDOW_WORDS + 16) /* place in calls->words */

/* Without bpf_loop(), before Linux 5.17, the verifier checks every iteration: PHP is too much then.
 */
static __always_inline bool php__is(const struct capture_runtime *r)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) &&
	       r->place != CAPTURE_IN_THREAD;
}

/* Returns the address of the globals, or 0. One word of them has its own address: another file with
 * the same inode number, or another layout, is noticed. */
static __always_inline __u64 php__state(const struct user *u, const struct capture_runtime *r)
{
	__u64 state = r->state_off[0];

	if (u->task->pid != u->task->tgid)
		return 0;
	if (r->place == CAPTURE_IN_EXECUTABLE)
		state += u->mm->start_code & -(__u64)cfg.page_sz;
	return user__word(u, state + r->id_off) == state + r->id_off ? state : 0;
}

/* Returns CAPTURE_PHP_TEXT of a zend_string, or 0. */
static __always_inline __u64 php__text(const struct user *u, struct capture_calls *calls,
				       __u64 string)
{
	__u64 *words = calls->words + PHP_FUNCTION + CAPTURE_PHP_FUNCTION_WORDS;

	if (!string || user__read(u, words, CAPTURE_PHP_STRING_WORDS * sizeof(*words), string))
		return 0;
	return CAPTURE_PHP_TEXT(words);
}

/* Returns 0 if the function cannot be read. Sets calls->code to it if its words in calls->words
 * describe it. */
static __always_inline __u64 php__read_cookie(const struct user *u, struct capture_calls *calls,
					      __u64 code)
{
	const struct capture_runtime *r = &calls->runtime;
	__u64 *words = calls->words + PHP_FUNCTION, type;

	calls->code = 0;
	if (!code || user__read(u, words, CAPTURE_PHP_FUNCTION_WORDS * sizeof(*words), code))
		return 0;
	type = words[0] & CAPTURE_PHP_TYPES;
	if (type == CAPTURE_PHP_INTERNAL)
		return CAPTURE_PHP_COOKIE(type, words[CAPTURE_PHP_NAME], words[CAPTURE_PHP_CLASS],
					  calls->words[WORD(PHP_FUNCTION + r->cookie[0])]);
	calls->code = code;
	return CAPTURE_PHP_COOKIE(type, php__text(u, calls, words[CAPTURE_PHP_NAME]),
				  calls->words[WORD(PHP_FUNCTION + r->cookie[1])],
				  user__word(u, calls->words[WORD(PHP_FUNCTION + r->cookie[2])] +
							CAPTURE_PHP_HASH * sizeof(*words)));
}

/* A stack has many of its functions several times: they are read once. */
static __always_inline __u64 php__cookie(const struct user *u, struct capture_calls *calls,
					 __u64 code)
{
	__u64 i = (code >> 3 ^ code >> 8) & (CAPTURE_KNOWN - 1);

	OPAQUE(i);
	i &= CAPTURE_KNOWN - 1;
	calls->code = 0;
	if (calls->known[i].code != code) {
		calls->known[i].code = code;
		calls->known[i].cookie = php__read_cookie(u, calls, code);
	}
	return calls->known[i].cookie;
}

/* Appends what the function of the last call points to, if php__cookie() has just read it. */
static __always_inline void php__describe(const struct user *u, struct capture_calls *calls,
					  struct event_call *call)
{
	const __u64 *words = calls->words;
	__u64 code = PHP_FUNCTION + calls->runtime.cookie[1];
	__u64 file = PHP_FUNCTION + calls->runtime.cookie[2];
	struct event_call *more = call__room(u, calls);

	if (!calls->code || !more || calls->cnt >= EVENT_CALLS_MAX)
		return;
	call->word |= CAPTURE_PHP_DESCRIBED;
	more->at = words[PHP_FUNCTION + CAPTURE_PHP_NAME];
	more->code = words[PHP_FUNCTION + CAPTURE_PHP_CLASS];
	more->instr = words[WORD(code)];
	more->word = words[WORD(file)];
	more->cookie = words[WORD(code - 1)] >> (calls->runtime.cookie_off & 32) << 32 >> 32 |
		       words[WORD(file + 1)] << 32;
	calls->cnt++;
}

#endif
