// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of many files: made in a thread, gone with their files. */
#include "test.h"

#include <stdlib.h>

#include "shell.h"
#include "unwind/tables.h"

struct rig {
	char *dir;
	struct tables *tables;
	struct elf_file *file; /* whose build ID is a claim */
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
	r->tables = tables__new(NULL);
	r->file = elf_file__open(path);
	free(path);
	if (!r->tables || !r->file || r->file->trusted)
		return -1;
	r->slot = tables__of(r->tables, r->file);
	tables__wait(r->tables);
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	tables__free(r->tables);
	elf_file__put(r->file);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

static size_t bytes(const struct rig *r)
{
	struct tables_stats s;

	tables__stats(r->tables, &s);
	return s.bytes;
}

/* What untrusted files may have is bounded: it comes back with them. */
static void a_table_counts_as_long_as_its_file_is_there(void **state)
{
	struct rig *r = *state;

	assert_non_null(r->slot->table);
	assert_ptr_equal(tables__of(r->tables, r->file), r->slot);
	assert_int_equal(bytes(r), r->slot->table->sz);
	elf_file__put(r->file);
	r->file = NULL;
	assert_int_equal(bytes(r), 0);
}

static void a_file_may_outlive_who_made_its_table(void **state)
{
	struct rig *r = *state;

	tables__free(r->tables);
	r->tables = NULL;
	assert_int_equal(frame_table__at(r->slot->table, 0).how, FLAT_NONE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(a_table_counts_as_long_as_its_file_is_there), T(a_file_may_outlive_who_made_its_table))
