// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include "lib/shell.h"
#include "symbol/demangle.h"
#include "symbol/symbol.h"

static void assert_at(struct elf_file *f, uint64_t addr, const char *name)
{
	struct symbol s;

	assert_true(elf_file__symbol(f, addr, &s));
	assert_string_equal(s.name, name);
}

/* objdump finds the names of stubs in another way. */
static void compare_stubs(const char *path)
{
	char *text = shell__output("objdump -d --no-show-raw-insn -j .plt -j .plt.sec -j .plt.got "
				   "'%s' 2>/dev/null | sed -n 's/^\\([0-9a-f]*\\) <\\(.*@plt\\)>:/"
				   "\\1 \\2/p'",
				   path);
	struct elf_file *f = elf_file__open(path);
	size_t cnt = 0;

	assert_non_null(text);
	assert_non_null(f);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), cnt++) {
		char readable[SYMBOL_NAME_MAX], *name;
		uint64_t addr = strtoull(line, &name, 16);

		if (strncmp(name + 1, "*ABS*", 5) == 0) /* a resolver without a name */
			continue;
		symbol_name(name + 1, readable);
		assert_at(f, addr, readable);
		assert_at(f, addr + 5, readable);
	}
	print_message("%s: %zu stubs\n", path, cnt);
	assert_true(cnt > 0);
	elf_file__put(f);
	free(text);
}

static void stubs_equal_objdump(void **state)
{
	static const char *flags[] = { "-fcf-protection=none -Wl,-z,lazy",
				       "-fcf-protection=none -Wl,-z,now",
				       "-fcf-protection=full -Wl,-z,lazy,-z,ibtplt",
				       "-fcf-protection=full -Wl,-z,now,-z,ibtplt",
				       "-no-pie -Wl,-z,lazy" };
	char path[256];

	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	shell__write(*state, "p.c",
		     "#include <stdlib.h>\n#include <stdio.h>\n"
		     "void *(*volatile p)(size_t) = malloc;\n"
		     "int main(void) { puts(getenv(\"HOME\")); free(malloc(3)); free(p(1)); }\n");
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		shell__run("cd %s && gcc %s -o prog p.c && strip prog", (char *)*state, flags[i]);
		compare_stubs(path);
	}
	compare_stubs("/usr/bin/sqlite3");
	compare_stubs("/lib/x86_64-linux-gnu/libm.so.6");
}

/* Where binutils put the stubs in the programs of tests/aarch64. */
static void stubs_of_aarch64(void **state)
{
	static const struct {
		const char *path;
		uint64_t second, third, first;
		uint64_t sz; /* up to the end of br */
	} programs[] = {
		{ "tests/aarch64/plt.elf", 0x330, 0x340, 0x350, 16 },
		{ "tests/aarch64/plt_bti.elf", 0x4003c0, 0x4003d8, 0x4003f0, 20 },
		{ "tests/aarch64/plt_pac.elf", 0x330, 0x348, 0x360, 20 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct elf_file *f = elf_file__open(programs[i].path);
		struct symbol s;

		assert_non_null(f);
		assert_at(f, programs[i].second, "second@plt");
		assert_at(f, programs[i].second + programs[i].sz - 1, "second@plt");
		assert_at(f, programs[i].third, "third@plt");
		assert_at(f, programs[i].first + 4, "first@plt");
		assert_false(
			elf_file__symbol(f, programs[i].second - 4, &s)); /* the section's header */
		elf_file__put(f);
	}
}

RUN_TESTS(test_with_folder(stubs_equal_objdump), cmocka_unit_test(stubs_of_aarch64))
