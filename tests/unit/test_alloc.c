// SPDX-License-Identifier: GPL-2.0-or-later
/* The choice of allocations, and the functions of a file. */
#include "lib/test.h"

#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/allocations.h"
#include "capture/allocfunctions.h"
#include "capture/alloclibraries.h"
#include "capture/allocseen.h"
#include "elf/namedsymbol.h"

#define KB	1024ull
#define DRAWS	(1u << 20)
#define PER_MIL 1000
#define SECOND	1000000000ull

static const struct {
	uint64_t size, interval;
} draws[] = {
	{ 100, 4 * KB },
	{ 4000, 4 * KB },
	{ 16 * KB, 4 * KB },
	{ 60 * KB, 4 * KB },
	{ 4 * KB, 512 * KB },
	{ 700 * KB, 512 * KB },
	{ 900 * KB, 1 * KB },
	{ 1, 64 },
	{ 4 * KB * KB, 256 * KB *KB },
	{ 3 * KB * KB, 1000 },
	{ 1000 * KB * KB, 3 * KB },
	{ 1ull << 40, 256 * KB *KB },
};

/* Draws with numbers that are evenly spread. Returns the sums per draw. */
static void draw_all(size_t i, double *chosen, double *bytes, double *weight)
{
	*chosen = *bytes = *weight = 0;
	for (uint32_t k = 0; k < DRAWS; k++) {
		struct alloc_sample s;

		alloc_draw(&s, draws[i].size, draws[i].interval,
			   k * (uint32_t)(ALLOC_ONE / DRAWS) + 1);
		*chosen += s.chance != 0;
		*bytes += (double)s.bytes;
		*weight += s.weight;
	}
	*chosen /= DRAWS;
	*bytes /= DRAWS;
	*weight /= DRAWS;
}

static void sums_of_samples_are_those_of_allocations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(draws) / sizeof(*draws); i++) {
		double size = (double)draws[i].size, x = size / (double)draws[i].interval, chosen,
		       bytes, weight;

		draw_all(i, &chosen, &bytes, &weight);
		assert_true(fabs(chosen - (1 - exp(-x))) < 2.0 / DRAWS + 1e-6);
		assert_true(fabs(bytes / size - 1) < 5.0 / PER_MIL);
		assert_true(fabs(weight - 1) < 5.0 / PER_MIL);
	}
}

static void without_an_interval_every_allocation_is_chosen(void **state)
{
	struct alloc_sample s;

	(void)state;
	alloc_draw(&s, 48, 0, UINT32_MAX);
	assert_int_equal(s.chance, ALLOC_ONE);
	assert_int_equal(s.bytes, 48);
	assert_int_equal(s.weight, 1);
}

static void an_empty_allocation_is_never_chosen(void **state)
{
	struct alloc_sample s;

	(void)state;
	alloc_draw(&s, 0, 0, 0);
	assert_int_equal(s.chance, 0);
}

static struct elf_file *file_with(const void *function, uint64_t *base)
{
	Dl_info info;

	assert_int_not_equal(dladdr(function, &info), 0);
	*base = (uintptr_t)info.dli_fbase;
	return elf_file__open(info.dli_fname);
}

/* Returns the cookie of the function at that address, or 0. */
static uint64_t cookie_of(const struct alloc_functions *l, uint64_t addr)
{
	for (size_t i = 0; i < l->cnt; i++) {
		if (l->at[i].addr == addr)
			return l->at[i].cookie;
	}
	return 0;
}

static void the_functions_of_the_c_library_are_found(void **state)
{
	static struct alloc_functions l;
	uint64_t base, malloc_addr, cookie;
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	struct elf_file *f;

	(void)state;
	assert_non_null(libc);
	f = file_with(dlsym(libc, "malloc"), &base);
	assert_non_null(f);
	assert_int_equal(alloc_functions__find(f, &l), 0);
	malloc_addr = (uintptr_t)dlsym(libc, "malloc") - base;
	cookie = cookie_of(&l, malloc_addr);
	assert_int_equal(cookie & ALLOC_COOKIE_CALL, ALLOC_SIZE);
	assert_true(cookie & ALLOC_COOKIE_LEAF);
	assert_int_equal(cookie >> ALLOC_COOKIE_PAGE, malloc_addr & ALLOC_PAGE_MASK);
	cookie = cookie_of(&l, (uintptr_t)dlsym(libc, "realloc") - base);
	assert_int_equal(cookie,
			 (cookie & ~ALLOC_COOKIE_LEAF & ~ALLOC_COOKIE_CALL) | ALLOC_REALLOC);
	cookie = cookie_of(&l, (uintptr_t)dlsym(libc, "calloc") - base);
	assert_int_equal(cookie & ALLOC_COOKIE_CALL, ALLOC_CALLOC);
	assert_true(cookie & ALLOC_COOKIE_LEAF);
	cookie = cookie_of(&l, (uintptr_t)dlsym(libc, "free") - base);
	assert_int_equal(cookie & ALLOC_COOKIE_CALL, ALLOC_FREE);
	elf_file__put(f);
	dlclose(libc);
}

/* Its operator new calls malloc(), which has the allocation. */
static void a_library_that_calls_malloc_has_none(void **state)
{
	static struct alloc_functions l;
	uint64_t base;
	void *cpp = dlopen("libstdc++.so.6", RTLD_NOW);
	struct elf_file *f;

	(void)state;
	assert_non_null(cpp);
	f = file_with(dlsym(cpp, "_Znwm"), &base);
	assert_non_null(f);
	assert_int_equal(alloc_functions__find(f, &l), 0);
	assert_int_equal(l.cnt, 0);
	elf_file__put(f);
	dlclose(cpp);
}

/* Returns true if the function is one, and calls no other. */
static bool is_leaf(const struct elf_file *f, const struct alloc_functions *l, const char *name)
{
	size_t left = 64u << 20;

	return cookie_of(l, elf_symbol__find(f, name, &left)) & ALLOC_COOKIE_LEAF;
}

/* In jemalloc, new[] jumps to new. In tcmalloc, both are names of one function. */
static void an_array_new_is_a_leaf_only_where_it_is_new_itself(void **state)
{
	static struct alloc_functions l;
	glob_t found;

	(void)state;
	if (alloc_libraries__find(&found))
		return globfree(&found); /* none is installed */
	for (size_t i = 0; i < found.gl_pathc; i++) {
		bool is_jemalloc = strstr(found.gl_pathv[i], "/libjemalloc"),
		     is_tcmalloc = strstr(found.gl_pathv[i], "/libtcmalloc_minimal.");
		struct elf_file *f = elf_file__open(found.gl_pathv[i]);

		assert_non_null(f);
		assert_int_equal(alloc_functions__find(f, &l), 0);
		if (is_jemalloc || is_tcmalloc) {
			assert_true(is_leaf(f, &l, "_Znwm"));
			assert_int_equal(is_leaf(f, &l, "_Znam"), is_tcmalloc);
		}
		elf_file__put(f);
	}
	globfree(&found);
}

static const struct alloc_seen_file libc = { 1, 2, 0 }, own_libc = { 1, 2, 77 };

static void a_file_is_new_once(void **state)
{
	static struct alloc_seen s;
	uint32_t own;

	(void)state;
	assert_true(alloc_seen__add(&s, &libc, 10, 0));
	assert_false(alloc_seen__add(&s, &libc, 11, 100 * SECOND));
	assert_true(alloc_seen__add(&s, &own_libc, 10, 0));
	assert_int_equal(alloc_seen__due(&s, 100 * SECOND, &own), 0);
	alloc_seen__remove(&s, &libc);
	assert_true(alloc_seen__add(&s, &libc, 12, 0));
	assert_false(alloc_seen__add(&s, &own_libc, 12, 0));
}

static void a_file_that_workers_failed_to_read_is_looked_into_again(void **state)
{
	static struct alloc_seen s;
	uint32_t own = 0;

	(void)state;
	alloc_seen__add(&s, &own_libc, 10, 0);
	alloc_seen__fail(&s, &own_libc, SECOND);
	assert_int_equal(alloc_seen__due(&s, 30 * SECOND, &own), 0);
	assert_false(alloc_seen__add(&s, &own_libc, 11, 30 * SECOND)); /* too early */
	assert_int_equal(alloc_seen__due(&s, 31 * SECOND, &own), 11);
	assert_int_equal(own, 77);
	assert_int_equal(alloc_seen__due(&s, 31 * SECOND, &own), 0); /* it may be gone */
	assert_true(alloc_seen__add(&s, &own_libc, 12, 32 * SECOND));
	assert_false(alloc_seen__add(&s, &own_libc, 13, 32 * SECOND));
	assert_int_equal(alloc_seen__due(&s, 99 * SECOND, &own), 0); /* it has been read */
	alloc_seen__fail(&s, &own_libc, 40 * SECOND);
	assert_int_equal(alloc_seen__due(&s, 70 * SECOND, &own), 12);
}

static void files_beyond_the_limit_are_not_new(void **state)
{
	static struct alloc_seen s;

	(void)state;
	for (uint64_t i = 0; i < ALLOC_SEEN_MAX; i++)
		assert_true(alloc_seen__add(&s, &(struct alloc_seen_file){ 1, i, 0 }, 1, 0));
	assert_false(alloc_seen__add(&s, &libc, 1, 0));
	assert_false(alloc_seen__add(&s, &own_libc, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_samples_are_those_of_allocations),
		cmocka_unit_test(without_an_interval_every_allocation_is_chosen),
		cmocka_unit_test(an_empty_allocation_is_never_chosen),
		cmocka_unit_test(the_functions_of_the_c_library_are_found),
		cmocka_unit_test(a_library_that_calls_malloc_has_none),
		cmocka_unit_test(an_array_new_is_a_leaf_only_where_it_is_new_itself),
		cmocka_unit_test(a_file_is_new_once),
		cmocka_unit_test(a_file_that_workers_failed_to_read_is_looked_into_again),
		cmocka_unit_test(files_beyond_the_limit_are_not_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
