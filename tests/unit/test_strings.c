// SPDX-License-Identifier: GPL-2.0-or-later
/* Valid text from any bytes, bounds of long strings, and the set of stack ids. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "store/bound.h"
#include "store/idset.h"
#include "store/strings.h"

#define BAD "\xef\xbf\xbd"

static void names_are_sanitized(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "plain", "plain" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe2\x82\xac\xf0\x9f\x94\xa5", "\xe2\x82\xac\xf0\x9f\x94\xa5" },
		{ "a\xff"
		  "b",
		  "a" BAD "b" },
		{ "cut \xe2\x82", "cut " BAD },
		{ "cut \xf0\x9f\x94", "cut " BAD },
		{ "\xe2\x82"
		  "a",
		  BAD "a" },
		{ "\xc0\xaf", BAD BAD },		 /* overlong */
		{ "\xed\xa0\x80", BAD BAD BAD },	 /* a surrogate */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD }, /* beyond U+10FFFF */
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "\x80\xbf", BAD BAD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b = { 0 };
		size_t sz = strlen(cases[i].in);

		utf8__sanitize(&b, cases[i].in, sz);
		assert_int_equal(b.sz, strlen(cases[i].out));
		assert_memory_equal(b.data, cases[i].out, b.sz);
		assert_int_equal(utf8__valid((char *)b.data, b.sz), b.sz);
		assert_int_equal(utf8__valid(cases[i].in, sz) == sz,
				 strcmp(cases[i].in, cases[i].out) == 0);
		buf__free(&b);
	}
}

/* Returns the bounds of one string of `times` repetitions of the unit. */
static void bounds_of(const char *unit, size_t times, enum column_type type, struct buf out[3])
{
	struct column column = { .name = "c", .type = type };
	struct string value;
	struct strings strings = { .v = &value, .cnt = 1 };
	struct leaf leaf = { .column = &column, .strings = &strings };
	struct buf *all = &out[2];

	for (size_t i = 0; i < times; i++)
		buf__append(all, unit, strlen(unit));
	value = (struct string){ (const char *)all->data, all->sz };
	assert_int_equal(bound__min(&out[0], &leaf, 0), all->sz <= BOUND_MAX);
	bound__max(&out[1], &leaf, 0);
}

static int cmp(const struct buf *a, const struct buf *b)
{
	int c = memcmp(a->data, b->data, a->sz < b->sz ? a->sz : b->sz);

	return c ? c : (int)a->sz - (int)b->sz;
}

static void strings_have_bounds(void **state)
{
	static const struct {
		const char *unit;
		enum column_type type;
		size_t times;
		bool cut;
	} cases[] = {
		{ "x", COLUMN_STRING, 64, false },
		{ "x", COLUMN_STRING, 65, true },
		{ "abc", COLUMN_STRING, 1000, true },
		{ "\xe2\x82\xac", COLUMN_STRING, 30, true },
		{ "\xc3\xbf", COLUMN_STRING, 40, false },
		{ "a\xc3\xbf", COLUMN_STRING, 40, true },
		{ "\x7f", COLUMN_STRING, 70, false },
		{ "\xf0\x9f\x94\xa5", COLUMN_STRING, 17, true },
		{ "\xff", COLUMN_BINARY, 70, false },
		{ "a\xff", COLUMN_BINARY, 70, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b[3] = { 0 }; /* min, max, the value */

		bounds_of(cases[i].unit, cases[i].times, cases[i].type, b);
		assert_true(cmp(&b[0], &b[2]) <= 0);
		assert_true(cmp(&b[1], &b[2]) >= 0);
		assert_int_equal(b[1].sz < b[2].sz, cases[i].cut);
		assert_true(!cases[i].cut || b[1].sz <= BOUND_MAX);
		if (cases[i].type == COLUMN_STRING)
			assert_int_equal(utf8__valid((char *)b[1].data, b[1].sz), b[1].sz);
		for (int j = 0; j < 3; j++)
			buf__free(&b[j]);
	}
}

static void a_cleared_idset_gives_memory_back(void **state)
{
	struct idset s;
	size_t least, most;

	(void)state;
	assert_int_equal(idset__init(&s), 0);
	least = idset__sz(&s);
	for (uint64_t i = 1; i <= 100000; i++)
		assert_int_equal(idset__add(&s, i), 0);
	most = idset__sz(&s);
	idset__clear(&s);
	assert_int_equal(idset__sz(&s), most); /* the next batch is probably as large */
	for (size_t sz = most; sz > least; sz /= 2) {
		assert_int_equal(idset__sz(&s), sz);
		assert_int_equal(idset__add(&s, sz), 0);
		idset__clear(&s);
		assert_false(idset__has(&s, sz));
	}
	idset__clear(&s);
	assert_int_equal(idset__sz(&s), least);
	idset__free(&s);
}

static void idset_remembers_ids(void **state)
{
	struct idset s;

	(void)state;
	assert_int_equal(idset__init(&s), 0);
	assert_false(idset__has(&s, 0));
	for (uint64_t i = 0; i < 20000; i++)
		assert_int_equal(idset__add(&s, i * 4096), 0);
	assert_int_equal(idset__add(&s, UINT64_MAX), 0);
	for (uint64_t i = 0; i < 20000; i++) {
		assert_true(idset__has(&s, i * 4096));
		assert_false(idset__has(&s, i * 4096 + 1));
	}
	assert_true(idset__has(&s, UINT64_MAX));
	idset__clear(&s);
	assert_false(idset__has(&s, 0));
	assert_false(idset__has(&s, 4096));
	idset__free(&s);
}

RUN_TESTS(cmocka_unit_test(names_are_sanitized), cmocka_unit_test(strings_have_bounds),
	  cmocka_unit_test(idset_remembers_ids),
	  cmocka_unit_test(a_cleared_idset_gives_memory_back))
