// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ruby 3.1: a thread waits in pthread_cond_wait() for its turn, with the VM's mutex, and for a
 *lock, a queue or the end of a sleep, with a mutex of its own that lies behind the condition
 *variable. glibc has both addresses on the stack, in a struct that its clean-up handler would get:
 *	uint64_t wseq; pthread_cond_t *cond; pthread_mutex_t *mutex; int private;
 * and before it, in a struct _pthread_cleanup_buffer, the address of that one.
 */
#include "runtime/ruby_layout.h"

#define WORDS_MAX   128 /* of the frame */
#define OWN_MUTEX   256 /* bytes from the condition variable */
#define PRIVATE_MAX 255
#define POINTER_MIN 4096

struct ruby_wait {
	uint64_t cond, mutex;
};

static bool ruby_is_object(uint64_t word, struct stack_part part)
{
	return word >= POINTER_MIN && word % 8 == 0 && word <= INT64_MAX &&
	       (word < part.low || word >= part.high);
}

/* Returns whether the struct is at `at`. */
static bool ruby_read_wait(const struct snapshot *s, struct stack_part part, uint64_t at,
			   struct ruby_wait *w)
{
	uint64_t private;

	return at % 8 == 0 && at >= part.low && at < part.high &&
	       snapshot__word(s, at + 8, &w->cond) && snapshot__word(s, at + 16, &w->mutex) &&
	       snapshot__word(s, at + 24, &private) && ruby_is_object(w->cond, part) &&
	       ruby_is_object(w->mutex, part) && (uint32_t) private <= PRIVATE_MAX;
}

bool ruby__waits_for_turn(const struct runtime_layout *l, const struct snapshot *s,
			  struct stack_part part)
{
	struct ruby_wait w;
	uint64_t word;

	if (l->at[RUBY_THREAD_NATIVE] != RUBY_NONE) /* from 3.2 on */
		return false;
	for (uint64_t at = part.low; at < part.high && (at - part.low) / 8 < WORDS_MAX; at += 8)
		if (snapshot__word(s, at, &word) && word > at && ruby_read_wait(s, part, word, &w))
			return w.mutex - w.cond > OWN_MUTEX;
	return false;
}
