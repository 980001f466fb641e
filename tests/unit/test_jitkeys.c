// SPDX-License-Identifier: GPL-2.0-or-later
/* How long names of JIT code stay valid. */
#include "lib/test.h"

#include "stacks/jitkeys.h"

#define SECOND 1000000000u

static int setup(void **state)
{
	*state = jit_keys__new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	jit_keys__free(*state);
	return 0;
}

static struct stack_owner owner(uint32_t tgid, uint64_t time_ns)
{
	return (struct stack_owner){ .tgid = tgid, .time_ns = time_ns };
}

static void processes_without_names_are_asked_seldom(void **state)
{
	const struct stack_owner first = owner(7, 1000), soon = owner(7, 2000),
				 late = owner(7, 3ull * SECOND), other = owner(8, 1000);

	assert_true(jit_keys__begin(*state, &first));
	assert_false(jit_keys__due(*state)); /* nothing was found yet, but stacks are pending */
	jit_keys__learn(*state, &first, 0);
	assert_false(jit_keys__begin(*state, &soon));
	assert_true(jit_keys__begin(*state, &other));
	assert_false(jit_keys__begin(*state, &soon));
	assert_true(jit_keys__begin(*state, &late));
	assert_true(jit_keys__due(*state));
	assert_false(jit_keys__begin(*state, &late)); /* it is in progress */
}

static void names_hold_until_a_place_has_another_owner(void **state)
{
	const struct stack_owner mine = owner(7, 1000), later = owner(7, 1000 + SECOND),
				 other = owner(8, 1000);
	uint64_t before, hash;

	jit_keys__begin(*state, &mine);
	assert_false(jit_keys__name(*state, 0x1000, &before));
	assert_false(jit_keys__name(*state, 0x1001, &hash));
	assert_int_not_equal(before, hash);
	jit_keys__learn(*state, &mine, 1);
	jit_keys__learn_name(*state, 0x1000, 42);
	assert_true(jit_keys__begin(*state, &mine));
	assert_true(jit_keys__name(*state, 0x1000, &hash));
	assert_int_equal(hash, 42);
	assert_false(jit_keys__name(*state, 0x1001, &hash));
	jit_keys__begin(*state, &other);
	assert_false(jit_keys__name(*state, 0x1000, &hash));
	assert_int_not_equal(hash, before);
	assert_true(jit_keys__begin(*state, &later));
	assert_true(jit_keys__due(*state));
	assert_false(jit_keys__due(*state));
	jit_keys__learn(*state, &later, 2); /* the code at an address has changed */
	assert_true(jit_keys__begin(*state, &later));
	assert_false(jit_keys__name(*state, 0x1000, &hash));
}

static void many_processes_are_bounded(void **state)
{
	uint64_t hash;

	for (uint32_t tgid = 1; tgid < 20000; tgid++) {
		const struct stack_owner o = owner(tgid, 1000);

		jit_keys__learn(*state, &o, 1);
		jit_keys__learn_name(*state, 0x1000, tgid);
		assert_true(jit_keys__begin(*state, &o));
		assert_true(jit_keys__name(*state, 0x1000, &hash));
		assert_int_equal(hash, tgid);
	}
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(test(processes_without_names_are_asked_seldom),
	  test(names_hold_until_a_place_has_another_owner), test(many_processes_are_bounded))
