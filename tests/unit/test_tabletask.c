// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables that workers build: the same as without, and wrong answers. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cfi/tablebuild.h"
#include "cfi/tabletask.h"

static const task_fn honest[TASK_CNT] = { [TASK_TABLE] = table_task__run };

static int setup(void **state)
{
	log__init("test_tabletask", LOG_ERROR);
	*state = workers__new(honest);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	workers__put(*state);
	return 0;
}

static struct cfi_table *table_of(struct workers *w, const struct elf_file *f)
{
	struct table_request r = { .file = f, .whole = true };
	struct cfi_table *t;

	assert_int_equal(table_task__request(w, &r, &t), 0);
	return t;
}

static void a_table_is_the_same_from_a_worker(void **state)
{
	struct elf_file *f = elf_file__open("/bin/sh");
	struct cfi_table *here = cfi_table__of_file(f), *there = table_of(*state, f);
	struct table_request cached = { .file = f, .cached = here, .whole = true };
	struct cfi_table *none;

	assert_non_null(there);
	assert_int_equal(here->sz, there->sz);
	assert_memory_equal(here, there, here->sz);
	assert_int_equal(table_task__request(*state, &cached, &none), 0);
	assert_null(none);
	here->digest++;
	assert_int_equal(table_task__request(*state, &cached, &none), 0);
	assert_int_equal(none->digest, there->digest);
	free(none);
	free(here);
	free(there);
	elf_file__put(f);
}

static void a_table_of_another_build_id_is_refused(void **state)
{
	struct elf_file *f = elf_file__open("/bin/sh"), *other = elf_file__open("/bin/ls");
	struct cfi_table *there;

	assert_true(f->build_id.sz && other->build_id.sz);
	there = table_of(*state, f);
	assert_false(cfi_table__is_sound(there, there->sz, &other->build_id));
	free(there);
	elf_file__put(f);
	elf_file__put(other);
}

/* A row less than the head of the table says. */
static int cut_table(struct task *t)
{
	int err = table_task__run(t);

	t->answer_sz -= t->answer ? 8 : 0;
	return err;
}

/* One rule is another one. */
static int change_table(struct task *t)
{
	int err = table_task__run(t);

	if (t->answer)
		((uint8_t *)t->answer)[t->answer_sz - 8] ^= 1;
	return err;
}

/* That of another file. */
static int other_table(struct task *t)
{
	struct elf_file *f = elf_file__new(t->fd, "");

	t->fd = -1;
	f->build_id.bytes[0] ^= 1;
	t->answer = cfi_table__of_file(f);
	t->answer_sz = ((struct cfi_table *)t->answer)->sz;
	elf_file__put(f);
	return 0;
}

static void forged_tables_are_refused(void **state)
{
	static const task_fn forged[] = { cut_table, change_table, other_table };

	(void)state;
	for (size_t i = 0; i < sizeof(forged) / sizeof(*forged); i++) {
		const task_fn hostile[TASK_CNT] = { [TASK_TABLE] = forged[i] };
		struct workers *w = workers__new(hostile);
		struct elf_file *f = elf_file__open("/bin/sh");
		struct table_request r = { .file = f, .whole = true };
		struct workers_stats stats;
		struct cfi_table *t;

		assert_int_equal(table_task__request(w, &r, &t), -ECHILD);
		assert_null(t);
		workers__stats(w, &stats);
		assert_int_equal(stats.refused, 4);
		elf_file__put(f);
		workers__put(w);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(a_table_is_the_same_from_a_worker), T(a_table_of_another_build_id_is_refused),
	  T(forged_tables_are_refused))
