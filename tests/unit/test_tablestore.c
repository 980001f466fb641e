// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of many files: built on a thread, freed with their files. */
#include "lib/test.h"

#include <stdlib.h>

#include "lib/shell.h"
#include "cfi/tablebuild.h"
#include "cfi/tablestore.h"

struct rig {
	char *dir;
	struct jobs *jobs;
	struct table_store *tables;
	struct elf_file *file; /* with an untrusted build ID */
	const struct table_slot *slot;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	char *path;

	*state = r;
	if (!r || shell__setup((void **)&r->dir))
		return -1;
	path = shell__output("cp /bin/sh %s/mine && chmod 0777 %s/mine && printf %%s %s/mine",
			     r->dir, r->dir, r->dir);
	r->jobs = jobs__new();
	r->tables = table_store__new(NULL, r->jobs);
	r->file = elf_file__open(path);
	free(path);
	if (!r->tables || !r->file || r->file->trusted)
		return -1;
	r->slot = table_store__of(r->tables, r->file);
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	jobs__free(r->jobs);
	table_store__free(r->tables);
	elf_file__put(r->file);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

static size_t bytes(const struct rig *r)
{
	struct table_store_stats s;

	table_store__stats(r->tables, &s);
	return s.bytes;
}

static size_t indexed(const struct rig *r)
{
	struct table_store_stats s;

	table_store__stats(r->tables, &s);
	return s.indexed;
}

/* Looks up rules until the table is built. */
static void make(struct rig *r)
{
	const struct elf_segment *code = r->file->segments;
	struct packed_rule rule;

	while (!(code->flags & PF_X))
		code++;
	for (uint64_t i = 0; !jobs__pending(r->jobs); i = (i + 1) % code->sz)
		table_store__rule(r->tables, r->file, code->off + i, &rule);
	assert_true(jobs__wait(r->jobs, 60000000000));
}

static void only_requested_rules_are_compiled_at_first(void **state)
{
	struct rig *r = *state;

	assert_null(r->slot->table);
	assert_int_equal(indexed(r), jobs__pending(r->jobs) == 0); /* files in memory only */
	make(r);
	assert_non_null(r->slot->table);
	assert_int_equal(indexed(r), 0);
}

/* The memory for untrusted files is bounded, and released with them. */
static void a_table_counts_as_long_as_its_file_is_there(void **state)
{
	struct rig *r = *state;

	make(r);
	assert_non_null(r->slot->table);
	assert_ptr_equal(table_store__of(r->tables, r->file), r->slot);
	assert_int_equal(bytes(r), r->slot->table->sz);
	elf_file__put(r->file);
	r->file = NULL;
	assert_int_equal(bytes(r), 0);
}

static void a_file_may_outlive_its_table_store(void **state)
{
	struct rig *r = *state;

	make(r);
	table_store__free(r->tables);
	r->tables = NULL;
	assert_int_equal(cfi_table__at(r->slot->table, 0).how, PACKED_NONE);
}

static void wait_for_table(struct table_store *t, struct jobs *jobs, struct elf_file *f,
			   struct table_store_stats *s)
{
	struct rig r = { .jobs = jobs, .tables = t, .file = f, .slot = table_store__of(t, f) };

	assert_true(jobs__wait(jobs, 60000000000));
	if (!r.slot->table)
		make(&r);
	table_store__stats(t, s);
}

/* A table with the same build ID but other call-frame information is built again. */
static void a_cached_table_of_other_frames_is_not_taken(void **state)
{
	struct rig *r = *state;
	struct table_cache *cache = table_cache__new(r->dir, 1 << 20);
	struct elf_file *sh = elf_file__open("/bin/sh");
	struct cfi_table *table = cfi_table__of_file(sh);

	assert_non_null(cache);
	assert_true(table && sh->trusted);
	assert_true(table->digest == cfi_table__digest(sh));
	for (int forged = 0; forged < 2; forged++) {
		struct jobs *jobs = jobs__new();
		struct table_store *t = table_store__new(cache, jobs);
		struct elf_file *f = elf_file__open("/bin/sh");
		struct table_store_stats s;

		table->digest ^= (uint64_t)forged;
		cfi_table__seal(table);
		assert_int_equal(table_cache__store(cache, table), 0);
		wait_for_table(t, jobs, f, &s);
		assert_int_equal(s.cached, !forged);
		assert_int_equal(s.made, forged);
		jobs__free(jobs);
		table_store__free(t);
		elf_file__put(f);
	}
	elf_file__put(sh);
	free(table);
	table_cache__put(cache);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(only_requested_rules_are_compiled_at_first),
	  T(a_table_counts_as_long_as_its_file_is_there), T(a_file_may_outlive_its_table_store),
	  T(a_cached_table_of_other_frames_is_not_taken))
