// SPDX-License-Identifier: GPL-2.0-or-later
/* Starts of functions, compared with readelf's symbols of the same files. */
#include "lib/test.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "lib/shell.h"
#include "cfi/functions.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

/* Returns "ADDRESS SIZE" of each function in the dynamic symbol table. */
static FILE *symbols_of(const char *path)
{
	char command[512];
	FILE *out;

	snprintf(command, sizeof(command),
		 "readelf -W --dyn-syms '%s' | awk '$4 == \"FUNC\" && $7 != \"UND\" && $3 > 0 { "
		 "print $2, $3 }'",
		 path);
	out = popen(command, "r");
	assert_non_null(out);
	return out;
}

/* A few are written in assembly and are parts of others, or have no call-frame information. */
static void the_c_library_has_its_functions(void **state)
{
	struct functions *f = functions__new(LIBC);
	FILE *symbols = symbols_of(LIBC);
	uint64_t address, sz, start, last;
	size_t cnt = 0, same = 0;

	(void)state;
	assert_non_null(f);
	while (fscanf(symbols, "%" SCNx64 " %" SCNu64, &address, &sz) == 2) {
		bool found = functions__find(f, address, &start) &&
			     functions__find(f, address + sz - 1, &last);

		cnt++;
		same += found && start == address && last == address;
		assert_true(!found || start <= address);
	}
	pclose(symbols);
	print_message("%zu of %zu\n", same, cnt);
	assert_true(cnt > 1000 && same > cnt * 99 / 100);
	assert_false(functions__find(f, 0, &start));
	assert_false(functions__find(f, UINT64_MAX, &start));
	functions__free(f);
}

static void a_missing_file_has_no_functions(void **state)
{
	(void)state;
	assert_null(functions__new("/nobody/s/file"));
	assert_int_equal(errno, ENOENT);
	assert_null(functions__new("/etc/passwd"));
	functions__free(NULL);
}

RUN_TESTS(cmocka_unit_test(the_c_library_has_its_functions),
	  cmocka_unit_test(a_missing_file_has_no_functions))
