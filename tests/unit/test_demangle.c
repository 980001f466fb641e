// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include "lib/shell.h"
#include "symbol/demangle.h"

static void known_names_are_demangled(void **state)
{
	static const char *names[][2] = {
		{ "main", "main" },
		{ "", "" },
		{ "_start", "_start" },
		{ "_Z3fooi", "foo(int)" },
		{ "_Z3fooi@plt", "foo(int)@plt" },
		{ "malloc@plt", "malloc@plt" },
		{ "@plt", "@plt" },
		{ "_ZN4shop4workEi.cold", "shop::work(int) [clone .cold]" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		  "3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function" },
		{ "_D6object7getHashFZi", "object.getHash()" },
		{ "_Dmain", "D main" },
		{ "_Zzzz", "_Zzzz" },
		{ "_Read", "_Read" },
		{ "main.(*Cart[...]).Sum", "main.(*Cart[...]).Sum" },
		{ "runtime.goexit.abi0", "runtime.goexit.abi0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char out[SYMBOL_NAME_MAX];

		assert_int_equal(symbol_name(names[i][0], out), strlen(names[i][1]));
		assert_string_equal(out, names[i][1]);
	}
}

static void unclean_names_are_cleaned(void **state)
{
	static const char *names[][2] = {
		{ "a\nb", "a\xef\xbf\xbd"
			  "b" },		      /* control */
		{ "a\x1b[31m", "a\xef\xbf\xbd[31m" }, /* a terminal's escape sequence */
		{ "\x7f", "\xef\xbf\xbd" },
		{ "\xc2\x9b"
		  "1m",
		  "\xef\xbf\xbd"
		  "1m" }, /* C1 */
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xc3", "\xef\xbf\xbd" },				    /* cut */
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },		    /* overlong */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xff", "\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char out[SYMBOL_NAME_MAX];

		symbol_name(names[i][0], out);
		assert_string_equal(out, names[i][1]);
	}
}

static void long_names_are_cut(void **state)
{
	char *raw = calloc(1, 20001), out[SYMBOL_NAME_MAX];

	(void)state;
	memset(raw, 'x', 20000);
	for (size_t sz = SYMBOL_NAME_MAX - 5; sz < SYMBOL_NAME_MAX + 5; sz++) {
		raw[sz] = '\0';
		assert_int_equal(symbol_name(raw, out),
				 sz < SYMBOL_NAME_MAX ? sz : SYMBOL_NAME_MAX - 1);
		assert_int_equal(strcmp(out + strlen(out) - 3, "\xe2\x80\xa6") == 0,
				 sz >= SYMBOL_NAME_MAX);
		raw[sz] = 'x';
	}
	for (size_t i = 0; i < 9999; i++) /* two bytes each: never cut inside one */
		memcpy(raw + 2 * i, "\xc3\xbc", 2);
	assert_int_equal(symbol_name(raw, out), SYMBOL_NAME_MAX - 1 - (SYMBOL_NAME_MAX - 4) % 2);
	assert_memory_equal(out + strlen(out) - 5, "\xc3\xbc\xe2\x80\xa6", 5);
	free(raw);
}

/* "f" with 30 arguments, each of which contains the previous one twice: gigabytes in 300 bytes. */
static void cxx_bomb(char *s)
{
	s += sprintf(s, "_Z1f1aIiiE");
	for (int i = 0; i < 30; i++) {
		char id = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		s += sprintf(s, "S_IS%c_S%c_E", id, id);
	}
}

static void rust_bomb(char *s)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *p = s + sprintf(s, "_RINvC1a1fTmmE");
	int at = (int)(p - s) - 6; /* of the tuple, counted from after "_R" */

	for (int i = 0; i < 40; i++) {
		int next = (int)(p - s) - 2, n = at - 1;
		char ref[8];

		if (n < 62)
			sprintf(ref, "B%c_", digits[n]);
		else
			sprintf(ref, "B%c%c_", digits[n / 62], digits[n % 62]);
		p += sprintf(p, "T%s%sE", ref, ref);
		at = next;
	}
	strcpy(p, "E");
}

static void d_bomb(char *s, int levels)
{
	char *p = s + sprintf(s, "_D1a1fFDFiZv");
	char *was = p - 5;

	for (int i = 0; i < levels; i++) {
		char *type = p;

		p += sprintf(p, "DF");
		for (int k = 0; k < 2; k++)
			p += sprintf(p, "Q%c", 'a' + (char)(p - was));
		p += sprintf(p, "Zv");
		was = type;
	}
	strcpy(p, "Zv");
}

static void bombs_are_defused(void **state)
{
	char raw[1024], out[SYMBOL_NAME_MAX];
	static const char start[] = "a.f(void(int) delegate, void(void(int) delegate, ";

	(void)state;
	cxx_bomb(raw);
	assert_int_equal(symbol_name(raw, out), SYMBOL_NAME_MAX - 1);
	assert_memory_equal(out, "f(a<int, int>, a<a<int, int>, a<int, int> >, ", 45);
	rust_bomb(raw);
	assert_int_equal(symbol_name(raw, out), SYMBOL_NAME_MAX - 1);
	assert_memory_equal(out, "a::f::<(u32, u32), ((u32, u32), (u32, u32)), ", 45);
	d_bomb(raw, 12);
	assert_int_equal(symbol_name(raw, out), SYMBOL_NAME_MAX - 1);
	assert_memory_equal(out, start, strlen(start));
	d_bomb(raw, 60);
	symbol_name(raw, out);
	assert_string_equal(out, raw);
}

/* All names of the C++ library, against c++filt. */
static void names_equal_those_of_cxxfilt(void **state)
{
	char *folder = *state, *raw, *want;
	size_t cnt = 0, demangled = 0;

	shell__run("nm -D --defined-only /usr/lib/x86_64-linux-gnu/libstdc++.so.6 | sed 's/.* //; "
		   "s/@.*//' | grep '^_Z' | awk 'length < 1000' > %s/raw",
		   folder);
	raw = shell__output("cat %s/raw", folder);
	want = shell__output("c++filt -i < %s/raw", folder);
	assert_non_null(raw);
	assert_non_null(want);
	for (char *r = raw, *w = want; *r; cnt++) {
		char out[SYMBOL_NAME_MAX];
		size_t rsz = strcspn(r, "\n"), wsz = strcspn(w, "\n");

		r[rsz] = w[wsz] = '\0';
		symbol_name(r, out);
		if (wsz < SYMBOL_NAME_MAX)
			assert_string_equal(out, w);
		demangled += strcmp(r, w) != 0;
		r += rsz + 1;
		w += wsz + 1;
	}
	print_message("%zu names, %zu demangled\n", cnt, demangled);
	assert_true(demangled > 100);
	free(raw);
	free(want);
}

RUN_TESTS(cmocka_unit_test(known_names_are_demangled), cmocka_unit_test(unclean_names_are_cleaned),
	  cmocka_unit_test(long_names_are_cut), cmocka_unit_test(bombs_are_defused),
	  test_with_folder(names_equal_those_of_cxxfilt))
