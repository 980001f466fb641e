// SPDX-License-Identifier: GPL-2.0-or-later
/* src/unwind/nocfi.h: walks through code without call-frame information, and to special callers. */
#include "lib/test.h"

#define SCENE_MORE                                                                               \
	/* 16 bytes of code without CFI between two functions with CFI */                        \
	".p2align 8\n.cfi_startproc\n.skip 16,0x90\n.cfi_endproc\n"                              \
	"push %rbx\ncall *%rax\npop %rbx\nret\n.p2align 4\n"                                     \
	".cfi_startproc\n.skip 212,0x90\n.cfi_endproc\n" /* as __start_context of the C library, \
							    behind 12 bytes of padding */        \
	".p2align 8\n.cfi_startproc\nmov %rbx,%rsp\nmov (%rsp),%rdi\ncall *%rax\nnop\n"          \
	".cfi_endproc\n" /* leaves frames for an exception: it saves the register of the         \
			    exception's data */                                                  \
	".p2align 8\n.cfi_startproc\n.cfi_def_cfa_offset 16\n.cfi_offset %rax,-16\n"             \
	"function\n nop\n.cfi_endproc\n" /* as __start_context, behind a wide gap */             \
	".p2align 8\n.cfi_startproc\nmov %rbx,%rsp\nmov (%rsp),%rdi\ncall *%rax\nnop\n"          \
	".cfi_endproc\n"
#include "lib/walk_scene.h"

enum { TINY = FORGED + 1, START_CONTEXT, UNWINDS, FAR_START_CONTEXT };

#define TINY_START  (FUNCTION(TINY) + 16)
#define TINY_RETURN (TINY_START + 3)
#define PATIENCE_NS 10000000000
#define TURNS	    4 /* first by the slow walk, then with the file's table */

/* Checks each of several walks; tables are built in between. */
#define CHECK_TURNS(t, expected_status, expected_cnt, check)             \
	do {                                                             \
		for (int turn = 0; turn < TURNS; turn++) {               \
			CHECK(t, expected_status, expected_cnt);         \
			check;                                           \
			assert_true(jobs__wait((t)->jobs, PATIENCE_NS)); \
		}                                                        \
	} while (0)

static void goes_on_from_a_tiny_function_in_a_gap(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 8);
	const struct frame *f = t->trace->frames;

	t->words[0] = TINY_RETURN;
	t->words[1] = 0xb; /* rbx */
	t->words[2] = return_into(ROOT);
	CHECK_TURNS(t, ROOT, 3, {
		assert_int_equal(f[1].pc, TINY_RETURN);
		assert_int_equal(f[2].pc, return_into(ROOT));
		assert_int_equal(f[2].sp, STACK + 24);
	});
	t->event->regs[16] = TINY_START; /* nothing is pushed yet */
	t->words[0] = return_into(ROOT);
	CHECK_TURNS(t, ROOT, 2, assert_int_equal(f[1].pc, return_into(ROOT)));
	t->event->regs[16] = TINY_START + 1;
	t->words[0] = 0xb;
	t->words[1] = return_into(ROOT);
	CHECK_TURNS(t, ROOT, 2, assert_int_equal(f[1].pc, return_into(ROOT)));
}

/* Planted: no call precedes it. */
static void ends_where_a_coroutine_begins(void **state)
{
	static const int starts[] = { START_CONTEXT, FAR_START_CONTEXT };

	for (size_t i = 0; i < 2; i++) {
		struct fixture *t = leaf(state, FUNCTION(PLAIN), 8);
		const struct frame *f = t->trace->frames;

		t->words[0] = FUNCTION(starts[i]);
		t->words[1] = return_into(PLAIN);
		CHECK_TURNS(t, ROOT, 2, {
			assert_int_equal(f[1].pc, FUNCTION(starts[i]));
			assert_int_equal(f[1].flags, 0);
		});
	}
}

/* A leaf with its return address in a register has no packed rule: all of it is a slow walk. */
static struct fixture *leaf_of_the_long_way(void **state, uint64_t caller)
{
	struct fixture *t = leaf(state, FUNCTION(VFORK), 8);

	t->event->regs[5] = caller; /* rdi */
	return t;
}

static void ends_where_a_coroutine_begins_by_the_long_way(void **state)
{
	struct fixture *t = leaf_of_the_long_way(state, FUNCTION(START_CONTEXT));
	const struct frame *f = t->trace->frames;

	t->words[0] = return_into(PLAIN);
	CHECK_TURNS(t, ROOT, 2, {
		assert_int_equal(f[1].pc, FUNCTION(START_CONTEXT));
		assert_int_equal(f[1].flags, 0);
	});
}

static void marks_callers_of_unwinding_code_by_the_long_way(void **state)
{
	struct fixture *t = leaf_of_the_long_way(state, return_into(UNWINDS));
	const struct frame *f = t->trace->frames;

	t->words[1] = return_into(ROOT);
	CHECK_TURNS(t, ROOT, 3, {
		assert_int_equal(f[1].source, FRAME_BY_CFI);
		assert_int_equal(f[2].source, FRAME_BY_UNWINDING);
	});
}

static void marks_callers_of_unwinding_code(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 8);
	const struct frame *f = t->trace->frames;

	t->words[0] = return_into(UNWINDS);
	t->words[2] = return_into(ROOT);
	CHECK_TURNS(t, ROOT, 3, {
		assert_int_equal(f[1].source, FRAME_BY_CFI);
		assert_int_equal(f[2].source, FRAME_BY_UNWINDING);
		assert_int_equal(f[2].pc, return_into(ROOT));
	});
}

static void goes_on_from_a_leaf_in_no_mapping(void **state)
{
	struct fixture *t = leaf(state, 0x1234, 8);
	const struct frame *f = t->trace->frames;

	t->words[0] = return_into(PLAIN);
	t->words[1] = return_into(ROOT);
	CHECK_TURNS(t, ROOT, 3, assert_int_equal(f[1].pc, return_into(PLAIN)));
	t->words[0] = FUNCTION(PLAIN) + 4; /* not after a call */
	walk(t);
	assert_int_not_equal(t->trace->status, UNWIND_ROOT);
	assert_int_equal(t->trace->cnt, 1);
}

RUN_TESTS(test(goes_on_from_a_tiny_function_in_a_gap), test(ends_where_a_coroutine_begins),
	  test(ends_where_a_coroutine_begins_by_the_long_way),
	  test(marks_callers_of_unwinding_code),
	  test(marks_callers_of_unwinding_code_by_the_long_way),
	  test(goes_on_from_a_leaf_in_no_mapping))
