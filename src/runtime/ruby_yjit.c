// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks out of the code that YJIT makes, which has no call-frame information. Ruby calls it from
 * vm_exec(). It saves three registers (with --yjit-perf, also a frame pointer). Calls from Ruby to
 * Ruby push nothing. Around a call of C there are the registers that are in use, at most five, and
 * in a branch stub those of the VM stack's top and rax: some 19 words in all at most.
 */
#include <string.h>

#include "runtime/ruby_layout.h"

#define WORDS_MAX 24 /* from the stack pointer to the return address */

/* Returns true for a return address in Ruby's own file. */
static bool is_in_ruby(const struct process *p, uint64_t word)
{
	const struct mapping *m = process__find(p, word - 1);
	const char *slash = m && m->kind == MAPPING_FILE && m->path ? strrchr(m->path, '/') : NULL;

	return slash && ruby.may_have(slash + 1);
}

enum managed_result ruby__step(struct code_walk *w, struct managed_frame *f)
{
	const struct managed_query *q = w->query;
	uint64_t word, saved = 0;

	f->hidden = true;
	for (size_t i = 0; i < WORDS_MAX; i++) {
		uint64_t at = f->sp + 8 * i;

		if (!snapshot__word(q->stack, at, &word))
			return MANAGED_NONE;
		if (!is_in_ruby(q->process, word)) {
			saved = word;
			continue;
		}
		if (f->fp == at - 8) /* push %rbp; mov %rsp,%rbp */
			f->fp = saved;
		f->pc = word;
		f->sp = at + 8;
		return MANAGED_STEPPED;
	}
	return MANAGED_NONE; /* code of something else than YJIT */
}
