// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which calls each activation of Ruby's vm_exec() runs. A flag marks the last call of a run. Each
 * activation has a local variable, a struct rb_vm_tag with what setjmp() has saved; ec->tag leads
 * to the innermost one. Other functions have such variables as well (rb_protect(), rb_ensure(), the
 * start of a thread). All of one function have the same program counter in what was saved.
 */
#include "runtime/ruby_layout.h"

#define FRAME_FINISH 0x20 /* VM_FRAME_FLAG_FINISH */

/*
 * struct rb_vm_tag, in words. What __builtin_setjmp() of GCC saves has 5 words: frame pointer,
 * program counter, stack pointer. jmp_buf has 25 words; the last of 8 registers is the program
 * counter, which glibc encodes with a constant of the process.
 */
#define TAG_BUF		 2
#define TAG_BUILTIN_PC	 (TAG_BUF + 1)
#define TAG_BUILTIN_SP	 (TAG_BUF + 2)
#define TAG_BUILTIN_PREV (TAG_BUF + 5)
#define TAG_PC		 (TAG_BUF + 7)
#define TAG_PREV	 (TAG_BUF + 25)
#define TAG_WORDS	 (TAG_PREV + 1)

#define NEAR	    (64u << 10)
#define ADDRESS_MAX (1ull << 47)

struct tags {
	size_t cnt;
	bool whole; /* up to the outermost one */
	struct tag {
		uint64_t at, pc;
	} tags[EVENT_CALLS_MAX];
};

static uint64_t ruby_runs_word_of(const struct snapshot *s, uint64_t tag, size_t word)
{
	uint64_t v = 0;

	snapshot__word(s, tag + 8 * word, &v);
	return v;
}

static bool ruby_is_builtin(const struct snapshot *s, uint64_t tag)
{
	uint64_t pc = ruby_runs_word_of(s, tag, TAG_BUILTIN_PC),
		 sp = ruby_runs_word_of(s, tag, TAG_BUILTIN_SP);

	return pc && pc < ADDRESS_MAX && tag - sp < NEAR;
}

static void ruby_read_tags(const struct snapshot *s, uint64_t tag, struct tags *t)
{
	uint64_t before = 0, first;

	t->cnt = 0;
	while (tag > before && t->cnt < EVENT_CALLS_MAX && snapshot__word(s, tag, &first)) {
		bool builtin = ruby_is_builtin(s, tag);

		t->tags[t->cnt++] =
			(struct tag){ tag, ruby_runs_word_of(s, tag,
							     builtin ? TAG_BUILTIN_PC : TAG_PC) };
		before = tag;
		tag = ruby_runs_word_of(s, tag, builtin ? TAG_BUILTIN_PREV : TAG_PREV);
	}
	t->whole = t->cnt && !tag;
}

static size_t ruby_runs_count_of(const struct tags *t, uint64_t pc)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->cnt; i++)
		cnt += t->tags[i].pc == pc;
	return cnt;
}

/* Removes the variables of other functions than the one with this program counter. */
static void ruby_runs_keep_only(struct tags *t, uint64_t pc)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->cnt; i++)
		if (t->tags[i].pc == pc)
			t->tags[cnt++] = t->tags[i];
	t->cnt = cnt;
}

/*
 * The start of a thread has the outermost variable, and vm_exec() the next one. An embedding
 * program may call Ruby otherwise: then the function with as many variables as there are runs.
 */
static bool ruby_find_vm_exec(const struct tags *t, size_t run_cnt, uint64_t *pc)
{
	for (size_t i = t->cnt > 1 ? t->cnt - 1 : t->cnt; t->whole && i > 0; i--) {
		size_t cnt = ruby_runs_count_of(t, t->tags[i - 1].pc);

		*pc = t->tags[i - 1].pc;
		if (cnt == run_cnt || (i + 1 == t->cnt && cnt - run_cnt + 1 <= 2))
			return true;
	}
	if (t->cnt)
		*pc = t->tags[t->cnt - 1].pc;
	return t->cnt && ruby_runs_count_of(t, *pc) == run_cnt;
}

/* An activation that has just begun or ended has only one of both: the innermost one. */
static void ruby_set_anchors(const struct runtime_calls *c, struct runtime_run *runs, size_t cnt,
			     const struct tags *t)
{
	for (size_t i = 0; i < cnt && i < t->cnt; i++) {
		if (t->whole && !c->cut)
			runs[cnt - 1 - i].anchor = t->tags[t->cnt - 1 - i].at;
		else
			runs[i].anchor = t->tags[i].at;
	}
}

size_t ruby__split(const struct runtime_calls *c, struct runtime_run *runs)
{
	size_t cnt = 0, first = 0;
	struct tags tags;
	uint64_t pc;

	for (size_t i = 0; i < c->cnt; i++) {
		if (!(c->calls[i].word & FRAME_FINISH))
			continue;
		runs[cnt++] = (struct runtime_run){ first, i + 1 - first, 0, 0 };
		first = i + 1;
	}
	ruby_read_tags(c->stack, c->base, &tags);
	if (ruby_find_vm_exec(&tags, cnt, &pc)) {
		ruby_runs_keep_only(&tags, pc);
		ruby_set_anchors(c, runs, cnt, &tags);
	}
	if (first < c->cnt)
		runs[cnt++] = (struct runtime_run){ first, c->cnt - first, 0, 0 };
	return cnt;
}
