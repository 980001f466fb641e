// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables on disk: which are kept, rejected and removed. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/shell.h"
#include "cfi/tablecache.h"
#include "cfi/tablebuild.h"

struct rig {
	char *dir, *cache_dir;
	struct table_cache *cache;
	struct elf_file *file;
	struct cfi_table *table;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	if (!r || shell__setup((void **)&r->dir))
		return -1;
	r->cache_dir = shell__output("printf %%s %s/a/b", r->dir);
	r->cache = table_cache__new(r->cache_dir, 1 << 20);
	r->file = elf_file__open("/bin/sh");
	r->table = r->file ? cfi_table__of_file(r->file) : NULL;
	return r->cache && r->table ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	table_cache__put(r->cache);
	elf_file__put(r->file);
	free(r->table);
	free(r->cache_dir);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

static void kept_tables_are_found(void **state)
{
	struct rig *r = *state;
	struct build_id other = r->file->build_id, none = { 0 };
	const struct cfi_table *t;
	struct stat st;

	assert_null(table_cache__load(r->cache, &r->file->build_id));
	assert_int_equal(table_cache__store(r->cache, r->table), 0);
	t = table_cache__load(r->cache, &r->file->build_id);
	assert_non_null(t);
	assert_memory_equal(t, r->table, r->table->sz);
	table_cache__unmap(t);
	other.bytes[3] ^= 1;
	assert_null(table_cache__load(r->cache, &other));
	assert_null(table_cache__load(r->cache, &none));
	assert_int_equal(stat(r->cache_dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(table_cache__store(r->cache, r->table), 0); /* again: replaced */
}

/* Runs a shell command on the only file in the cache. */
static void damage(struct rig *r, const char *command)
{
	assert_int_equal(table_cache__store(r->cache, r->table), 0);
	shell__run("cd %s && f=$(ls) && %s", r->cache_dir, command);
	assert_null(table_cache__load(r->cache, &r->file->build_id));
}

static void damaged_tables_are_not_believed(void **state)
{
	struct rig *r = *state;
	const struct cfi_table *t;

	damage(r, "truncate -s -1 $f");
	damage(r, "truncate -s 10 $f");
	damage(r, "truncate -s 0 $f");
	damage(r, "printf x | dd of=$f bs=1 seek=5000 conv=notrunc status=none");
	damage(r, "printf x | dd of=$f bs=1 seek=8 conv=notrunc status=none"); /* version */
	damage(r, "mv $f x && ln -s x $f");
	shell__run("rm -f %s/*", r->cache_dir);
	damage(r, "rm $f && mkfifo $f");
	shell__run("rm -f %s/*", r->cache_dir);
	assert_int_equal(table_cache__store(r->cache, r->table), 0);
	t = table_cache__load(r->cache, &r->file->build_id);
	assert_non_null(t);
	table_cache__unmap(t);
}

static void a_folder_that_others_can_write_is_refused(void **state)
{
	struct rig *r = *state;
	char *link = shell__output("printf %%s %s/link", r->dir);

	chmod(r->cache_dir, 0770);
	assert_null(table_cache__new(r->cache_dir, 1));
	assert_int_equal(errno, EPERM);
	chmod(r->cache_dir, 0700);
	shell__run("ln -s %s %s", r->cache_dir, link);
	assert_null(table_cache__new(link, 1));
	assert_null(table_cache__new("/proc/no/such", 1));
	free(link);
}

static bool is_kept(struct rig *r, uint8_t first)
{
	struct build_id id = r->table->build_id;
	const struct cfi_table *t;

	id.bytes[0] = first;
	t = table_cache__load(r->cache, &id);
	if (t)
		table_cache__unmap(t);
	return t;
}

/* Stores the table of another file with the same content. */
static void keep(struct rig *r, uint8_t first)
{
	r->table->build_id.bytes[0] = first;
	cfi_table__seal(r->table);
	assert_int_equal(table_cache__store(r->cache, r->table), 0);
	shell__run("cd %s && touch -d '2020-01-01 00:00:%02d' %02x*.table", r->cache_dir, first,
		   first);
}

static void the_least_recently_used_is_removed(void **state)
{
	struct rig *r = *state;

	table_cache__put(r->cache);
	r->cache = table_cache__new(r->cache_dir, r->table->sz * 3);
	keep(r, 1);
	keep(r, 2);
	keep(r, 3);
	assert_true(is_kept(r, 1)); /* and counts as used now */
	keep(r, 4);
	assert_false(is_kept(r, 2));
	assert_true(is_kept(r, 1) && is_kept(r, 3) && is_kept(r, 4));
	table_cache__put(r->cache);
	r->cache = table_cache__new(r->cache_dir, r->table->sz); /* a smaller one from now on */
	assert_int_equal(is_kept(r, 1) + is_kept(r, 3) + is_kept(r, 4), 3);
	shell__run("cd %s && touch -d 2020-01-02 *", r->cache_dir);
	keep(r, 5);
	assert_false(is_kept(r, 1) || is_kept(r, 3) || is_kept(r, 4));
	assert_true(is_kept(r, 5));
}

/* A process that was killed while it wrote. */
static void unfinished_files_are_removed_too(void **state)
{
	struct rig *r = *state;

	keep(r, 1);
	shell__run("cd %s && cp 01*.table $(ls 01*).new.4711 && touch -d 2019-01-01 *.new.*",
		   r->cache_dir);
	table_cache__put(r->cache);
	r->cache = table_cache__new(r->cache_dir, r->table->sz * 2);
	keep(r, 1);
	keep(r, 2);
	assert_true(is_kept(r, 1) && is_kept(r, 2));
	shell__run("cd %s && test $(ls | wc -l) = 2", r->cache_dir);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(kept_tables_are_found), T(damaged_tables_are_not_believed),
	  T(a_folder_that_others_can_write_is_refused), T(the_least_recently_used_is_removed),
	  T(unfinished_files_are_removed_too))
