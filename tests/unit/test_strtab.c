// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <stdio.h>

#include "base/strtab.h"

static void ids_are_dense_and_stable(void **state)
{
	struct strtab *t = strtab__new();
	char s[32];
	size_t sz;

	(void)state;
	assert_int_equal(strtab__id(t, "", 0), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 10000; i++)
			assert_int_equal(strtab__id(t, s, (size_t)sprintf(s, "s%u", i)), i);
	assert_string_equal(strtab__str(t, 77, &sz), "s77");
	assert_int_equal(sz, 3);
	assert_int_equal(strtab__cnt(t), 10001);
	strtab__reset(t);
	assert_int_equal(strtab__cnt(t), 1);
	assert_int_equal(strtab__id(t, "a\0b", 3), 1);
	assert_int_equal(strtab__id(t, "a\0c", 3), 2);
	strtab__free(t);
}

RUN_TESTS(cmocka_unit_test(ids_are_dense_and_stable))
