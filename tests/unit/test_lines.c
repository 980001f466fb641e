// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <time.h>

#include "lib/shell.h"
#include "symbol/lines.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

struct chain {
	size_t cnt;
	struct line lines[32];
};

static void keep(const struct line *line, void *arg)
{
	struct chain *c = arg;

	if (c->cnt < 32)
		c->lines[c->cnt++] = *line;
}

static struct chain at(struct lines *l, uint64_t vaddr)
{
	struct chain c = { 0 };
	int err = lines__at(l, (struct line_query){ vaddr, true }, keep, &c);

	assert_int_equal(err, c.cnt ? 0 : -ENOENT);
	return c;
}

/* Returns the place without a repeated folder of the compilation: if -ffile-prefix-map made the
 * folder relative, LLVM 14 prints it twice ("././p.cpp", "./inet/./inet/rexec.c"). */
static const char *drop_repeated_folder(const char *place)
{
	size_t sz = strlen(place);

	for (size_t i = 1; 2 * i + 1 < sz; i++) {
		if (place[0] == '.' && place[i] == '/' && memcmp(place, place + i + 1, i + 1) == 0)
			return place + i + 1;
	}
	return place;
}

/* "FILE:LINE" or "FILE:LINE (discriminator 2)", printed by another program. */
static void assert_place(const struct line *l, char *text)
{
	const char *want = drop_repeated_folder(text);
	char got[4600];

	text[strcspn(text, " ")] = '\0';
	snprintf(got, sizeof(got), "%s:%d", l->file ? l->file : "??", l->line);
	assert_string_equal(got, want);
}

/*
 * One address of llvm-symbolizer's output: pairs of lines, function and place. It takes the last
 * function's name from the symbol table and demangles differently: names are compared up to the
 * first parameter list or template, if both are from DWARF.
 */
static void compare(struct lines *l, uint64_t vaddr, char **text)
{
	struct chain c = at(l, vaddr);
	char *function, *place;
	size_t i = 0;

	for (; (function = strsep(text, "\n")) && *function && strncmp(function, "0x", 2); i++) {
		place = strsep(text, "\n");
		assert_non_null(place);
		if (c.cnt == 0 && strcmp(function, "??") == 0)
			continue;
		if (c.cnt == 0 && strstr(place, ":0"))
			continue; /* a name from the symbol table only */
		assert_true(i < c.cnt);
		assert_place(&c.lines[i], place);
		if (i + 1 < c.cnt && !strpbrk(function, "$<_"))
			assert_memory_equal(c.lines[i].function, function, strcspn(function, "("));
	}
	if (c.cnt && i != c.cnt)
		fail_msg("%#lx: %zu functions, not %zu", vaddr, c.cnt, i);
	if (function && *function) /* the next address */
		(*text)[-1] = '\n', *text = function;
}

static void compare_all(const char *path, const char *addresses)
{
	char *text = shell__output("llvm-symbolizer --obj=%s --output-style=GNU -a -f -i < %s",
				   path, addresses);
	struct lines *l = lines__new(path);
	char *rest = text, *addr;
	size_t cnt = 0;

	assert_non_null(text);
	assert_non_null(l);
	while ((addr = strsep(&rest, "\n")) != NULL) {
		if (strncmp(addr, "0x", 2) != 0)
			continue;
		compare(l, strtoull(addr, NULL, 16), &rest);
		cnt++;
	}
	print_message("%s: %zu addresses\n", path, cnt);
	assert_true(cnt > 20);
	lines__free(l);
	free(text);
}

/* Every 16th byte of the functions of a program. */
static void compare_program(const char *folder, const char *build)
{
	char path[256], addresses[256];

	snprintf(path, sizeof(path), "%s/prog", folder);
	snprintf(addresses, sizeof(addresses), "%s/addresses", folder);
	shell__run("cd %s && %s 2>&1", folder, build);
	shell__run("cd %s && nm -S prog | awk '$3 ~ /^[tTwW]$/ && !seen[$1]++ { print $1, $2 }' | "
		   "while read a s; do a=$((0x$a)); e=$((a + 0x$s)); while [ $a -lt $e ]; do "
		   "printf '0x%%x\\n' $a; a=$((a + 16)); done; done | awk '!seen[$0]++' | "
		   "head -3000 > addresses",
		   folder);
	compare_all(path, addresses);
}

static const char cxx[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
	"namespace shop {\n"
	"template <class T> struct cart {\n"
	"	std::vector<T> v;\n"
	"	void add(T t) { v.push_back(t); }\n"
	"	T sum() const { T s{}; for (auto &x : v) s += x; return s; }\n"
	"};\n"
	"static inline int twice(int x) { return 2 * x; }\n"
	"__attribute__((noinline)) int work(int n)\n"
	"{\n"
	"	cart<int> c;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		c.add(twice(i));\n"
	"	std::sort(c.v.begin(), c.v.end(), [](int a, int b) { return a > b; });\n"
	"	return c.sum();\n"
	"}\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	std::map<std::string, int> m;\n"
	"	m[\"a\"] = shop::work(argc * 100);\n"
	"	return m[\"a\"];\n"
	"}\n";

static void every_kind_of_dwarf_has_lines(void **state)
{
	static const char *builds[] = {
		"g++ -O2 -gdwarf-5 -o prog p.cpp",
		"g++ -O2 -gdwarf-4 -o prog p.cpp",
		"clang++ -O2 -g -o prog p.cpp",
		"clang++ -O2 -gdwarf-4 -o prog p.cpp",
		"g++ -O0 -g -no-pie -o prog p.cpp",
		"g++ -O2 -g -gz -o prog p.cpp",
		"g++ -O2 -g -gsplit-dwarf -o prog p.cpp",
		"g++ -O2 -gdwarf-5 -ffile-prefix-map=$PWD=. -o prog p.cpp",
		"g++ -O2 -gdwarf-4 -ffile-prefix-map=$PWD=. -o prog p.cpp",
	};

	shell__write(*state, "p.cpp", cxx);
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i += EVERY_NTH_SANITIZED(4))
		compare_program(*state, builds[i]);
}

static const char go[] =
	"package main\n\nimport \"sort\"\n\ntype Cart struct{ v []int }\n\n"
	"func (c *Cart) Add(n int) { c.v = append(c.v, n) }\n\n"
	"func main() {\n\tc := &Cart{}\n\tfor i := 0; i < 10; i++ {\n\t\tc.Add(i)\n\t}\n"
	"\tsort.Ints(c.v)\n\tprintln(c.v[0])\n}\n";

static void a_go_program_has_lines(void **state)
{
	if (!shell__has("go"))
		skip_because("no Go compiler");
	shell__write(*state, "main.go", go);
	compare_program(*state, "HOME=${HOME:-$PWD} GO111MODULE=off go build -o prog main.go");
}

/* From libc6-dbg, found by build ID. */
static void libc_has_lines(void **state)
{
	char addresses[256];
	uint64_t x = 88172645463325252;
	FILE *f;

	snprintf(addresses, sizeof(addresses), "%s/addresses", (char *)*state);
	f = fopen(addresses, "w");
	for (int i = 0; i < 4000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		fprintf(f, "%#lx\n", 0x26000 + x % 0x150000);
	}
	assert_int_equal(fclose(f), 0);
	compare_all(LIBC, addresses);
}

static const char inlined[] = "static inline __attribute__((always_inline)) int inner(int n)\n"
			      "{\n"
			      "	static volatile int word; return word + n;\n" /* 3 */
			      "}\n"
			      "static inline __attribute__((always_inline)) int middle(int n)\n"
			      "{\n"
			      "	return inner(n) + 1;\n" /* 7 */
			      "}\n"
			      "int outer(int n)\n"
			      "{\n"
			      "	return middle(n) + 2;\n" /* 11 */
			      "}\n"
			      "int main(int n, char **v) { return v ? outer(n) : 0; }\n";

static void inlined_functions_are_chained(void **state)
{
	static const struct line want[] = { { "inner", NULL, 3, 0 },
					    { "middle", NULL, 7, 0 },
					    { "outer", NULL, 11, 0 } };
	struct chain all, last = { 0 };
	char path[256], file[256], *addr;
	struct lines *l;

	shell__write(*state, "p.c", inlined);
	shell__run("cd %s && gcc -O1 -g -fno-ipa-icf -o prog p.c", (char *)*state);
	addr = shell__output("objdump -d --no-show-raw-insn %s/prog | sed -n '/<outer>:/,/^$/"
			     "s/^ *\\([0-9a-f]*\\):.*<word[.0-9]*>.*/\\1/p'",
			     (char *)*state);
	assert_non_null(addr);
	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	snprintf(file, sizeof(file), "%s/p.c", (char *)*state);
	l = lines__new(path);
	assert_non_null(l);
	all = at(l, strtoull(addr, NULL, 16));
	assert_int_equal(all.cnt, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(all.lines[i].function, want[i].function);
		assert_string_equal(all.lines[i].file, file);
		assert_int_equal(all.lines[i].line, want[i].line);
		assert_true(all.lines[i].column > 0);
	}
	assert_int_equal(
		lines__at(l, (struct line_query){ strtoull(addr, NULL, 16), false }, keep, &last),
		0);
	assert_int_equal(last.cnt, 1);
	assert_string_equal(last.lines[0].function, "outer");
	assert_int_equal(last.lines[0].line, 11);
	lines__free(l);
	free(addr);
}

static void missing_debug_information_is_reported(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	assert_null(lines__new(path));
	assert_int_equal(errno, ENOENT);
	shell__write(*state, "p.c", inlined);
	shell__run("cd %s && gcc -O1 -o prog p.c", (char *)*state);
	assert_null(lines__new(path));
	assert_int_equal(errno, ENOENT);
	shell__run("cd %s && echo text > prog", (char *)*state);
	assert_null(lines__new(path));
	assert_int_equal(errno, ENOEXEC);
	lines__free(NULL);
}

static void corrupted_copies_are_harmless(void **state)
{
	char path[256], source[256], *image;
	size_t sz;
	FILE *f;

	shell__write(*state, "p.c", inlined);
	shell__run("cd %s && gcc -O1 -g -o good p.c", (char *)*state);
	snprintf(source, sizeof(source), "%s/good", (char *)*state);
	snprintf(path, sizeof(path), "%s/prog", (char *)*state);
	f = fopen(source, "r");
	image = malloc(1 << 20);
	sz = fread(image, 1, 1 << 20, f);
	fclose(f);
	srand(5);
	for (int round = 0; round < 300; round++) {
		char *copy = memcpy(malloc(sz), image, sz);
		struct lines *l;

		for (int i = 0; i < 30; i++) /* after the code: DWARF and section headers */
			copy[0x3000 + (size_t)rand() % (sz - 0x3000)] = (char)rand();
		f = fopen(path, "w");
		assert_int_equal(fwrite(copy, 1, sz, f), sz);
		fclose(f);
		l = lines__new(path);
		for (uint64_t vaddr = 0x1000; l && vaddr < 0x1200; vaddr += 3)
			at(l, vaddr);
		lines__free(l);
		free(copy);
	}
	free(image);
}

static void ten_thousand_look_ups_are_fast(void **state)
{
	struct timespec a, b;
	struct lines *l = lines__new(LIBC);
	struct chain c;
	int64_t us;

	(void)state;
	assert_non_null(l);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t i = 0; i < 10000; i++)
		c = at(l, 0x26000 + i * 7919 % 0x150000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
	print_message("libc: %.1f us per lookup\n", (double)us / 10000);
	assert_true(c.cnt <= 32);
	lines__free(l);
}

RUN_TESTS(test_with_folder(every_kind_of_dwarf_has_lines), test_with_folder(a_go_program_has_lines),
	  test_with_folder(libc_has_lines), test_with_folder(inlined_functions_are_chained),
	  test_with_folder(missing_debug_information_is_reported),
	  test_with_folder(corrupted_copies_are_harmless),
	  cmocka_unit_test(ten_thousand_look_ups_are_fast))
