// SPDX-License-Identifier: GPL-2.0-or-later
/* Call-frame information that is known to be wrong, and its correction (src/cfi/fullrule.c). */
#include "lib/test.h"

/* glibc up to 2.19 describes its lock stubs like this: CFA = rsp - 128, the caller is at pc -
 * 0xa00. */
#define SCENE_MORE                                                        \
	".p2align 8\n.cfi_startproc\n.cfi_escape 0x12,7,16\n.cfi_escape " \
	"0x16,16,3,0x80,0x80,0x6c\n"                                      \
	"function\n nop\n.cfi_endproc\n"
#include "lib/walk_scene.h"

enum { LOCK_STUB = FORGED + 1 };

static void a_lock_stub_is_128_bytes_below_its_function(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(PLAIN), 32);

	t->words[0] = return_into(LOCK_STUB); /* to PLAIN, with a stack pointer 128 above */
	t->words[1 + 16] = return_into(ROOT);
	for (int turn = 0; turn < 2; turn++) {
		CHECK(t, ROOT, 4);
		assert_int_equal(t->trace->frames[1].pc, return_into(LOCK_STUB));
		assert_int_equal(t->trace->frames[2].pc, return_into(PLAIN));
		assert_int_equal(t->trace->frames[2].sp, STACK + 8 + 128);
		assert_true(jobs__wait(t->jobs, 10000000000));
	}
}

/* There the stack pointer may still, or again, be the function's. */
static void a_lock_stub_as_leaf_ends_the_walk(void **state)
{
	struct fixture *t = leaf(state, FUNCTION(LOCK_STUB), 32);

	t->words[16] = return_into(ROOT);
	CHECK(t, NO_CFI, 1);
}

RUN_TESTS(test(a_lock_stub_is_128_bytes_below_its_function),
	  test(a_lock_stub_as_leaf_ends_the_walk))
