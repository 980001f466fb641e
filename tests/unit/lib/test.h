/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Included by every unit test: cmocka and the headers that it needs. */
#ifndef UNIT_TEST_H
#define UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "worker/sanitized.h"

/* The plain build checks every case of a large comparison. Sanitizers look for other mistakes,
 * which every nth case has, too, and make it several times slower. */
#ifdef SANITIZED
#define EVERY_NTH_SANITIZED(n) (n)
#else
#define EVERY_NTH_SANITIZED(n) 1
#endif

/* cmocka 2 has two macros instead, and the compiler warns about the old one. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

/* Ends the test; tests/run prints the reason. A test that cannot run here must call it. */
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
