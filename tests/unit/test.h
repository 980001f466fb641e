/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every unit test includes this one: cmocka and what it wants before it. */
#ifndef UNIT_TEST_H
#define UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Ends the test; tests/run prints why. A test that cannot run here always says so. */
#define skip_because(...)                   \
	do {                                \
		print_message(__VA_ARGS__); \
		print_message("\n");        \
		skip();                     \
	} while (0)

#define RUN_TESTS(...)                                             \
	int main(void)                                             \
	{                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ }; \
		return cmocka_run_group_tests(tests, NULL, NULL);  \
	}

#endif
