// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <time.h>

#include "base/monotonic.h"
#include "lib/shell.h"
#include "symbol/symbol.h"

static struct kallsyms *load(const char *folder, const char *text)
{
	char path[256];

	shell__write(folder, "kallsyms", text);
	snprintf(path, sizeof(path), "%s/kallsyms", folder);
	return kallsyms__new(path);
}

static void assert_symbol(struct kallsyms *k, uint64_t addr, const struct symbol *want)
{
	struct symbol got;

	assert_true(kallsyms__symbol(k, addr, &got));
	assert_string_equal(got.name, want->name);
	assert_string_equal(got.module, want->module);
	assert_int_equal(got.address, want->address);
	assert_int_equal(got.base, want->base);
}

static const char kernel[] = "0000000000000000 A fixed_percpu_data\n"
			     "0000000000001000 A cpu_debug_store\n"
			     "ffffffff81000000 T startup_64\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000040 t local\n"
			     "ffffffff81000040 T global\n"
			     "ffffffff81000040 W weak\n"
			     "ffffffff81000080 t __late\n"
			     "ffffffff810000c0 T __etext\n"
			     "ffffffff81001000 D data\n"
			     "ffffffffc0002000 t second\t[ext4]\n"
			     "ffffffffc0001000 t first\t[ext4]\n"
			     "ffffffffc0000800 d ext4_data\t[ext4]\n"
			     "ffffffffc0003000 t bpf_prog_1234_mine\t[bpf]\n"
			     "ffffffffc0004000 t _RNvC6_123foo3bar\t[rust_module]\n";

static void addresses_have_symbols(void **state)
{
	struct kallsyms *k = load(*state, kernel);

	assert_in_range(kallsyms__sz(k), sizeof("startup_64") + sizeof("bpf_prog_1234_mine"),
			1 << 20);
	const uint64_t text = 0xffffffff81000000, ext4 = 0xffffffffc0001000;
	struct symbol s;

	assert_non_null(k);
	assert_symbol(k, text, &(struct symbol){ "startup_64", text, "[kernel]", text });
	assert_symbol(k, text + 0x3f, &(struct symbol){ "startup_64", text, "[kernel]", text });
	assert_symbol(k, text + 0x40, &(struct symbol){ "global", text + 0x40, "[kernel]", text });
	assert_symbol(k, text + 0x90, &(struct symbol){ "__late", text + 0x80, "[kernel]", text });
	assert_symbol(k, ext4 + 0xfff, &(struct symbol){ "first", ext4, "[ext4]", ext4 });
	assert_symbol(k, ext4 + 0x1000,
		      &(struct symbol){ "second", ext4 + 0x1000, "[ext4]", ext4 });
	assert_symbol(
		k, ext4 + 0x2004,
		&(struct symbol){ "bpf_prog_1234_mine", ext4 + 0x2000, "[bpf]", ext4 + 0x2000 });
	assert_symbol(
		k, ext4 + 0x3004,
		&(struct symbol){ "123foo::bar", ext4 + 0x3000, "[rust_module]", ext4 + 0x3000 });
	assert_false(kallsyms__symbol(k, 0, &s));
	assert_false(kallsyms__symbol(k, 0x1000, &s));
	assert_false(kallsyms__symbol(k, text - 1, &s));
	assert_false(kallsyms__symbol(k, text + 0x1000, &s));	  /* data */
	assert_false(kallsyms__symbol(k, text + 0x10000000, &s)); /* between */
	assert_false(kallsyms__symbol(k, UINT64_MAX, &s));	  /* too far after the last */
	kallsyms__free(k);
}

static void errors_are_reported(void **state)
{
	assert_null(kallsyms__new("/nonexistent/kallsyms"));
	assert_int_equal(errno, ENOENT);
	assert_null(load(*state, ""));
	assert_int_equal(errno, ENOENT);
	assert_null(load(*state, "0000000000000000 T _text\n0000000000000000 t a\t[ext4]\n"));
	assert_int_equal(errno, EPERM);
	assert_null(kallsyms__new("/tmp"));
	assert_int_equal(errno, EISDIR);
	kallsyms__free(NULL);
}

static void odd_lines_are_skipped(void **state)
{
	static const char text[] = "\n\nT\n \nffffffff81000000\nffffffff81000000 \n"
				   "ffffffff81000000 T\nffffffff81000000 T \n"
				   "ffffffff8100000000 T too_long\nfffffffg T no_hex\n"
				   "ffffffff81000010  T two_spaces\n"
				   "ffffffff81000020 TT two_types\n"
				   "ffffffff81000030 T \x01\xff\n"
				   "ffffffff81000040 T good\t\n"
				   "ffffffff81000050 T cut_without_newline";
	struct kallsyms *k = load(*state, text);
	struct symbol s;

	assert_non_null(k);
	assert_false(kallsyms__symbol(k, 0xffffffff8100002f, &s));
	assert_true(kallsyms__symbol(k, 0xffffffff81000030, &s));
	assert_string_equal(s.name, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_true(kallsyms__symbol(k, 0xffffffff81000040, &s));
	assert_string_equal(s.name, "good");
	assert_true(kallsyms__symbol(k, 0xffffffff81000051, &s));
	assert_string_equal(s.name, "cut_without_newline");
	kallsyms__free(k);
}

static void a_line_that_is_too_long_is_skipped(void **state)
{
	static const char format[] = "ffffffff81000000 T %08000d\nffffffff81000040 T next\n";
	char text[9000];
	struct kallsyms *k;
	struct symbol s;

	snprintf(text, sizeof(text), format, 0);
	k = load(*state, text);
	assert_non_null(k);
	assert_false(kallsyms__symbol(k, 0xffffffff81000000, &s));
	assert_true(kallsyms__symbol(k, 0xffffffff81000041, &s));
	assert_string_equal(s.name, "next");
	kallsyms__free(k);
}

/* A module that is loaded later is found after the file is read again; returned names stay valid.
 */
static void a_module_comes_later(void **state)
{
	uint64_t from_ns = monotonic__ns();
	struct kallsyms *k = load(*state, kernel);
	const struct timespec wait = { 1, 100000000 };
	char longer[sizeof(kernel) + 100];
	struct symbol before, s;

	assert_non_null(k);
	assert_true(kallsyms__symbol(k, 0xffffffff81000040, &before));
	snprintf(longer, sizeof(longer), "%sffffffffd0000000 t late\t[late]\n", kernel);
	shell__write(*state, "kallsyms", longer);
	while (!kallsyms__symbol(k, 0xffffffffd0000004, &s))
		assert_true(monotonic__ns() - from_ns < 60000000000);
	assert_true(monotonic__ns() - from_ns >= 1000000000); /* not more often */
	assert_string_equal(s.name, "late");
	assert_string_equal(s.module, "[late]");
	assert_string_equal(before.name, "global");
	assert_string_equal(before.module, "[kernel]");
	shell__write(*state, "kallsyms", ""); /* a failed read changes nothing */
	nanosleep(&wait, NULL);
	assert_false(kallsyms__symbol(k, 0xffffffffe0000000, &s));
	assert_true(kallsyms__symbol(k, 0xffffffffd0000004, &s));
	kallsyms__free(k);
}

struct entry {
	uint64_t addr;
	char type, name[600];
};

static size_t read_entries(const char *path, struct entry **entries)
{
	FILE *f = fopen(path, "r");
	size_t cnt = 0;
	char line[1024];

	*entries = NULL;
	while (f && fgets(line, sizeof(line), f)) {
		struct entry e;

		if (cnt % 65536 == 0)
			*entries = realloc(*entries, (cnt + 65536) * sizeof(e));
		if (sscanf(line, "%lx %c %599s", &e.addr, &e.type, e.name) == 3 && e.addr &&
		    !strchr("aA", e.type))
			(*entries)[cnt++] = e;
	}
	if (f)
		fclose(f);
	return cnt;
}

/* Returns the nearest start at or below addr, by a search of every line. */
static uint64_t linear(const struct entry *e, size_t cnt, uint64_t addr)
{
	uint64_t best = 0;

	for (size_t i = 0; i < cnt; i++)
		if (e[i].addr <= addr && e[i].addr > best)
			best = e[i].addr;
	return best;
}

/* A copy, because BPF programs come and go, and have names there. */
static void look_ups_equal_a_linear_search(void **state)
{
	struct entry *entries;
	size_t cnt, compared = 0;
	struct kallsyms *k;
	char path[256];

	snprintf(path, sizeof(path), "%s/kallsyms", (char *)*state);
	shell__run("cat /proc/kallsyms >%s", path);
	k = kallsyms__new(path);
	if (!k) {
		assert_int_equal(errno, EPERM);
		skip_because("/proc/kallsyms shows no addresses here");
	}
	cnt = read_entries(path, &entries);
	for (size_t i = 0; i < cnt; i += 389) {
		const uint64_t addr = entries[i].addr, start = linear(entries, cnt, addr + 3);
		struct symbol s;
		bool named = false;

		if (!strchr("tTwW", entries[i].type) || start != addr)
			continue;
		assert_true(kallsyms__symbol(k, addr + 3, &s));
		assert_int_equal(s.address, addr);
		for (size_t j = 0; j < cnt && !named; j++)
			named = entries[j].addr == addr && strcmp(entries[j].name, s.name) == 0;
		assert_true(named || strstr(entries[i].name, "_R") == entries[i].name);
		compared++;
	}
	assert_true(compared > 100);
	free(entries);
	kallsyms__free(k);
}

RUN_TESTS(test_with_folder(addresses_have_symbols), test_with_folder(errors_are_reported),
	  test_with_folder(odd_lines_are_skipped),
	  test_with_folder(a_line_that_is_too_long_is_skipped),
	  test_with_folder(a_module_comes_later), test_with_folder(look_ups_equal_a_linear_search))
