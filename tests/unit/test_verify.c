// SPDX-License-Identifier: GPL-2.0-or-later
/* Attacks of processes on the unwinder by files and stacks. */
#include "lib/test.h"

#include <sys/mman.h>

#define SCENE_MORE                                                                                \
	".p2align 8\n.type runtime.systemstack,@function\nruntime.systemstack:\n.cfi_startproc\n" \
	" call .\n nop\n.cfi_endproc\n.size runtime.systemstack,.-runtime.systemstack\n"          \
	".p2align 8\n.cfi_startproc\n.cfi_offset %rsp,0x40000\nfunction\n nop\n.cfi_endproc\n"    \
	".pushsection .gopclntab,\"a\"\n.byte 0\n.popsection\n"
#include "lib/walk_scene.h"

#include "process/openjob.h"

enum { SWITCHES = FORGED + 1, LOSES_SP }; /* Go's code that switches stacks; SCENE_MORE */

#define OTHER	    0x7ffe00000000u
#define OTHER_WORDS 64
#define PATIENCE_NS 10000000000

static uint64_t other[OTHER_WORDS];

/* A sample of a thread that came from another stack; `other` is known of it. */
static struct sample with_other(struct fixture *t, uint64_t pc, uint64_t fp)
{
	struct sample s = sample_of(t);

	s.before = (struct other_stack){
		.known = true,
		.pc = pc,
		.sp = OTHER,
		.fp = fp,
		.stack = { .addr = OTHER, .sz = sizeof(other), .bytes = (uint8_t *)other }
	};
	return s;
}

/* The last time with the files' tables. */
static void walk_again_and_again(struct fixture *t, const struct sample *s)
{
	for (int i = 0; i < 3; i++) {
		unwinder__walk(t->unwinder, &t->process, s, t->trace);
		jobs__wait(t->jobs, PATIENCE_NS);
	}
}

static void assert_walk(struct fixture *t, const struct sample *s, enum unwind_status status,
			size_t cnt)
{
	walk_again_and_again(t, s);
	assert_int_equal(t->trace->status, status);
	assert_int_equal(t->trace->cnt, cnt);
}

#define PAGES_SZ ((sizeof(struct trace) / 4096 + 1) * 4096)

/* A trace before an inaccessible page. */
static uint8_t *guard(struct fixture *t)
{
	uint8_t *pages = mmap(NULL, PAGES_SZ + 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGES_SZ, 4096, PROT_NONE), 0);
	free(t->trace);
	t->trace = (void *)(pages + PAGES_SZ - sizeof(struct trace));
	return pages;
}

/* The frame that switches stacks is the last one for which a trace has room. */
static void a_full_trace_is_checked(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), TRACE_MAX + 10);
	uint8_t *pages = guard(t);
	struct sample s;

	memset(other, 0, sizeof(other));
	for (size_t i = 0; i < TRACE_MAX - 2; i++)
		t->words[i] = return_into(PLAIN);
	t->words[TRACE_MAX - 2] = return_into(SWITCHES);
	other[0] = return_into(ROOT);
	s = with_other(t, FUNCTION(PLAIN), 0);
	assert_walk(t, &s, UNWIND_LIMIT, TRACE_MAX);
	for (size_t i = 0; i + 2 < OTHER_WORDS; i += 2) { /* a chain through code without CFI */
		other[i] = OTHER + (i + 2) * 8;
		other[i + 1] = JIT + 0x20;
	}
	s = with_other(t, JIT + 0x10, OTHER);
	assert_walk(t, &s, UNWIND_LIMIT, TRACE_MAX);
	t->words[TRACE_MAX - 3] = return_into(SWITCHES); /* there is room for one more */
	s = with_other(t, FUNCTION(PLAIN), 0);
	other[0] = return_into(ROOT);
	assert_walk(t, &s, UNWIND_LIMIT, TRACE_MAX);
	munmap(pages, PAGES_SZ + 4096);
	t->trace = NULL;
}

/* A handler on a signal stack, which called code without CFI, has interrupted code without CFI. */
static void a_handler_in_generated_code_is_checked(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(BARE), 40);
	struct sample s;

	memset(other, 0, sizeof(other));
	t->words[0] = return_into(SIGNAL);
	t->words[1 + 20] = OTHER;
	t->words[1 + 21] = JIT + 0x10;
	t->event->regs[6] = OTHER + 16;
	other[2] = OTHER + 6 * 8;
	other[3] = JIT + 0x20;
	other[6] = OTHER + 10 * 8;
	other[7] = JIT + 0x30;
	other[11] = return_into(ROOT);
	s = with_other(t, JIT + 0x10, OTHER + 16);
	assert_walk(t, &s, UNWIND_ROOT, 6);
}

/* Like a_handler_in_generated_code_is_checked(), in a file, on a stack that continues after its
 * snapshot. */
static void a_handler_on_a_long_stack_is_checked(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(BARE), 40);
	struct sample s;

	memset(other, 0, sizeof(other));
	t->words[0] = return_into(SIGNAL);
	t->words[1 + 20] = OTHER;
	t->words[1 + 21] = FUNCTION(PLAIN);
	for (int i = 0; i < 6; i++)
		other[i] = return_into(PLAIN);
	other[6] = return_into(ROOT);
	s = with_other(t, FUNCTION(PLAIN), 0);
	s.truncated = true;
	assert_walk(t, &s, UNWIND_ROOT, 10);
}

static struct sample victim(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 80);

	t->words[0] = return_into(PLAIN);
	t->words[1] = return_into(ROOT);
	t->event->regs[6] = STACK + 20 * 8;
	t->words[21] = return_into(PLAIN);
	t->words[22] = return_into(ROOT);
	return sample_of(t);
}

/* A frame without a stack pointer, in code that other processes have, too. */
static struct sample attacker(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(BARE), 80);

	t->words[0] = return_into(SIGNAL);
	t->words[1 + 20] = STACK + 30 * 8;
	t->words[1 + 21] = FUNCTION(LOSES_SP) + 5;
	t->words[30] = return_into(PLAIN);
	t->event->regs[6] = STACK + 40 * 8;
	t->words[40] = STACK + 50 * 8;
	t->words[41] = return_into(ROOT);
	return sample_of(t);
}

static void rules_stay_what_they_are(void **state)
{
	struct fixture *t = *state;
	struct sample s = victim(state);

	assert_walk(t, &s, UNWIND_ROOT, 3);
	s = attacker(state);
	walk_again_and_again(t, &s);
	assert_int_equal(t->trace->frames[t->trace->cnt - 1].source, FRAME_BY_POINTER);
	s = victim(state);
	assert_walk(t, &s, UNWIND_ROOT, 3);
}

/* A memfd may hold a program with call-frame information. */
static void files_being_opened_are_awaited(void **state)
{
	struct fixture *t = leaf(state, JIT + 0x10, 40);
	struct open_job o = { .state = OPENING_RUNS };
	struct mapping maps[4] = { t->maps[0],
				   t->maps[1],
				   { .start = JIT + 0x10000,
				     .end = JIT + 0x20000,
				     .kind = MAPPING_ANON,
				     .opening = &o },
				   t->maps[2] };
	struct sample s;

	t->process.maps = maps;
	t->process.map_cnt = 4;
	t->event->regs[6] = STACK + 16;
	t->words[2] = STACK + 6 * 8;
	t->words[3] = JIT + 0x20;
	t->words[6] = STACK + 10 * 8;
	t->words[7] = JIT + 0x10010;
	t->words[10] = STACK + 14 * 8;
	t->words[11] = JIT + 0x10020;
	t->words[15] = return_into(ROOT);
	s = sample_of(t);
	for (int i = 0; i < 5; i++) {
		assert_false(unwinder__try(t->unwinder, &t->process, &s, t->trace));
		jobs__wait(t->jobs, PATIENCE_NS);
	}
	t->process.maps = t->maps;
	t->process.map_cnt = 3;
}

RUN_TESTS(test(a_full_trace_is_checked), test(a_handler_in_generated_code_is_checked),
	  test(a_handler_on_a_long_stack_is_checked), test(rules_stay_what_they_are),
	  test(files_being_opened_are_awaited))
