/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that end a tool, and replacements for cmocka that the headers of the unit tests need. */
#ifndef TOOLS_MUST_H
#define TOOLS_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define must(ok)                                                                                \
	do {                                                                                    \
		if (!(ok)) {                                                                    \
			fprintf(stderr, "%s: failed: %s (%m)\n", program_invocation_short_name, \
				#ok);                                                           \
			exit(1);                                                                \
		}                                                                               \
	} while (0)
#define assert_true	       must
#define assert_non_null(p)     must((p) != NULL)
#define assert_int_equal(a, b) must((a) == (b))

#endif
