// SPDX-License-Identifier: GPL-2.0-or-later
/* The map of generated code. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/codemap_scene.h"

static int add(struct codemap *m, uint64_t start, uint64_t sz, const char *name, uint64_t time_ns)
{
	return codemap__add(
		m, &(struct code){ .start = start, .sz = sz, .time_ns = time_ns, .name = name });
}

static void the_latest_function_before_a_time_counts(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x1000, 0x100, "a", 10), 0);
	assert_int_equal(add(m, 0x1080, 0x100, "b", 20), 0);
	assert_int_equal(codemap__reused(m), 1);
	assert_string_equal(at(m, 0xfff, 100), "");
	assert_string_equal(at(m, 0x1000, 100), "a");
	assert_string_equal(at(m, 0x107f, 100), "a");
	assert_string_equal(at(m, 0x1080, 100), "b");
	assert_string_equal(at(m, 0x1080, 19), "a");
	assert_string_equal(at(m, 0x117f, 20), "b");
	assert_string_equal(at(m, 0x1180, 20), "");
	/* Before its time: the runtime reported it late. */
	assert_string_equal(at(m, 0x1000, 5), "a");
	assert_string_equal(at(m, 0x1100, 5), "b");
	assert_int_equal(add(m, 0x1080, 0x100, "b", 30), 0); /* again */
	assert_int_equal(codemap__reused(m), 1);
	codemap__free(m);
}

/* Threads write records a little out of order. */
static void times_may_go_back(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x1000, 0x100, "a", 20), 0);
	assert_int_equal(add(m, 0x1000, 0x100, "b", 10), 0);
	assert_string_equal(at(m, 0x1000, 20), "b");
	assert_string_equal(at(m, 0x1000, 15), "a");
	codemap__free(m);
}

struct function {
	uint64_t start, end, time_ns;
	char name[8];
};

/* By a linear search. */
static const char *expected(const struct function *all, size_t cnt, uint64_t addr, uint64_t time_ns)
{
	const char *name = "";

	for (size_t i = cnt; i-- > 0;) {
		if (addr < all[i].start || addr >= all[i].end)
			continue;
		name = all[i].name;
		if (all[i].time_ns <= time_ns)
			break;
	}
	return name;
}

/* Adjacent places, also at their edges, across pages, reused repeatedly. */
static void look_ups_equal_a_linear_search(void **state)
{
	static struct function all[3000];
	struct codemap *m = codemap__new();
	unsigned seed = 7;

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		struct function *f = &all[i];
		uint64_t sz = rand_r(&seed) % (i % 100 ? 300 : 9000) + 1;

		*f = (struct function){ .start = 0x10000 + (uint64_t)(rand_r(&seed) % 0x5000),
					.time_ns = i / 3 };
		f->end = f->start + sz;
		snprintf(f->name, sizeof(f->name), "%zu", i % 50);
		assert_int_equal(add(m, f->start, sz, f->name, f->time_ns), 0);
		for (int k = 0; k < 100; k++) {
			const struct function *g = &all[(size_t)rand_r(&seed) % (i + 1)];
			uint64_t addr = (k & 1 ? g->start : g->end) - (uint64_t)(k & 2);
			uint64_t time_ns = (uint64_t)rand_r(&seed) % (i + 2);

			assert_string_equal(at(m, addr, time_ns),
					    expected(all, i + 1, addr, time_ns));
		}
	}
	codemap__free(m);
}

static void functions_may_span_many_pages(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x7fff0ff0, 0x300020, "large", 0), 0);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(add(m, 0x10000000 + i * 0x2000, 0x1800, "small", 0), 0);
	assert_string_equal(at(m, 0x7fff0fef, 0), "");
	assert_string_equal(at(m, 0x7fff0ff0, 0), "large");
	assert_string_equal(at(m, 0x8010abcd, 0), "large");
	assert_string_equal(at(m, 0x802f100f, 0), "large");
	assert_string_equal(at(m, 0x802f1010, 0), "");
	assert_string_equal(at(m, 0x10000000 + 999 * 0x2000 + 0x17ff, 0), "small");
	assert_int_equal(codemap__cnt(m), 1001);
	codemap__free(m);
}

static void bad_functions_are_refused(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	assert_int_equal(add(m, 0x1000, 0, "empty", 0), -EINVAL);
	assert_int_equal(add(m, 0x1000, 1, "", 0), -EINVAL);
	assert_int_equal(add(m, 0x1000, 1ull << 40, "huge", 0), -EINVAL);
	assert_int_equal(add(m, UINT64_MAX - 1, 4, "wraps", 0), -EINVAL);
	assert_int_equal(codemap__cnt(m), 0);
	codemap__free(m);
}

/* Millions of functions at one place are an attack: the memory for them is bounded, and so is the
 * time of a look-up. */
static void room_has_bounds(void **state)
{
	struct codemap *m = codemap__new();
	int err = 0;

	(void)state;
	for (uint64_t i = 0; i < 1u << 22 && !err; i++)
		err = add(m, 0x1000 + (i & 1), 0x1000000 - 1, "forged", i);
	assert_int_equal(err, -E2BIG);
	assert_true(codemap__sz(m) < 64 << 20);
	assert_string_equal(at(m, 0x1001, 0), "forged");
	codemap__free(m);
	m = codemap__new();
	err = 0;
	for (uint64_t i = 0; i < 1u << 22 && !err; i++)
		err = add(m, i << 24, 0x1000000, "forged", i);
	assert_int_equal(err, -E2BIG);
	assert_true(codemap__sz(m) < 128 << 20);
	codemap__free(m);
}

/* A place with many owners that are all later than the look-up: the first of them is found, however
 * many there are. */
static void the_first_of_many_is_found(void **state)
{
	struct codemap *m = codemap__new();

	(void)state;
	for (uint64_t i = 0; i < 500000; i++)
		assert_int_equal(
			add(m, 0x1000 + i % 16 * 64, 64, i < 16 ? "first" : "later", 1000 + i), 0);
	for (uint64_t i = 0; i < 100000; i++)
		assert_string_equal(at(m, 0x1000 + i % 1024, i % 1000), "first");
	assert_string_equal(at(m, 0x1000, 1016), "later");
	codemap__free(m);
}

RUN_TESTS(cmocka_unit_test(the_latest_function_before_a_time_counts),
	  cmocka_unit_test(times_may_go_back), cmocka_unit_test(look_ups_equal_a_linear_search),
	  cmocka_unit_test(functions_may_span_many_pages),
	  cmocka_unit_test(bad_functions_are_refused), cmocka_unit_test(room_has_bounds),
	  cmocka_unit_test(the_first_of_many_is_found))
