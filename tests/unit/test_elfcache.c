// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/elfmaker.h"
#include "elf/elfcache.h"

static char dir[] = "/tmp/test_elfcache.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][64];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void put_file(const char *name, const struct made_elf *made, uid_t owner)
{
	int fd = elfmaker__write(in_dir(name), made, sizeof(*made));

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, owner, 0), 0);
	close(fd);
}

static struct elf_file *open_in(struct elf_cache *c, const char *name)
{
	int fd = open(in_dir(name), O_RDONLY);

	assert_true(fd >= 0);
	return elf_cache__open(c, fd, name, NULL);
}

/* Copies of one program are one file if root owns them. */
static void trusted_files_are_shared(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *a, *b;

	(void)state;
	put_file("a", &made, 0);
	put_file("b", &made, 0);
	a = open_in(c, "a");
	b = open_in(c, "b");
	assert_ptr_equal(a, b);
	assert_int_equal(a->refs, 2);
	assert_int_equal(elf_cache__cnt(c), 1);
	elf_file__put(a);
	elf_file__put(b);
	a = elf_cache__by_build_id(c, &b->build_id);
	assert_ptr_equal(a, b); /* unreferenced, but still there */
	elf_file__put(a);
	elf_cache__free(c);
}

/* By its name in the kernel's records: the file that was last mapped by that name, if it is
 * trusted. */
static void files_have_the_kernels_names(void **state)
{
	struct made_elf made = elfmaker__make(1, "f"), other = elfmaker__make(2, "f");
	struct record_mmap name = { .maj = 8, .min = 1, .ino = 5, .gen = 9 },
			   unknown = { .ino = 0 };
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *a, *b, *theirs;

	(void)state;
	put_file("a", &made, 0);
	put_file("b", &other, 0);
	put_file("theirs", &made, 1000);
	a = open_in(c, "a");
	b = open_in(c, "b");
	theirs = open_in(c, "theirs");
	assert_null(elf_cache__by_name(c, &name));
	elf_cache__name(c, a, &unknown);
	assert_null(elf_cache__by_name(c, &unknown));
	elf_cache__name(c, a, &name);
	elf_cache__name(c, b, &name);
	elf_file__put(a);
	assert_ptr_equal(elf_cache__by_name(c, &name), b);
	elf_file__put(b);
	name.gen++; /* the number belongs to another file now */
	assert_null(elf_cache__by_name(c, &name));
	name.gen--;
	elf_cache__name(c, theirs, &name);
	assert_null(elf_cache__by_name(c, &name));
	elf_file__put(b);
	elf_file__put(theirs);
	elf_cache__free(c);
}

#define MB ((size_t)1 << 20)

/* The memory for untrusted files is bounded, and no user takes the share of others. */
static void files_of_others_hold_little(void **state)
{
	static const struct {
		const char *name;
		uid_t owner;
	} files[] = { { "mine", 0 },	 { "theirs", 1000 },	   { "more", 1000 },
		      { "other", 1001 }, { "of_a_range", 200000 }, { "of_the_same", 262143 } };
	struct elf_cache *c = elf_cache__new(1, 0);
	struct elf_file *f[6];

	(void)state;
	for (uint8_t i = 0; i < 6; i++) {
		struct made_elf made = elfmaker__make(i, "f");

		put_file(files[i].name, &made, files[i].owner);
		f[i] = open_in(c, files[i].name);
	}
	assert_true(elf_file__hold(f[0], 1024 * MB));
	assert_true(elf_file__hold(f[1], 100 * MB));
	assert_false(elf_file__hold(f[2], 29 * MB));
	assert_false(elf_file__hold(f[2], SIZE_MAX));
	assert_true(elf_file__hold(f[2], 28 * MB)); /* half of 256 MB */
	assert_false(elf_file__hold(f[1], 1));
	assert_true(elf_file__hold(f[3], 64 * MB)); /* half of the rest */
	assert_false(elf_file__hold(f[3], 1));
	assert_true(elf_file__hold(f[4], 30 * MB)); /* 64 MB are left */
	assert_false(elf_file__hold(f[5], 3 * MB));
	assert_true(elf_file__hold(f[5], 2 * MB));
	for (size_t i = 1; i < 6; i++)
		elf_file__put(f[i]); /* all except the last are freed */
	assert_true(elf_file__hold(f[5], 125 * MB));
	elf_file__put(f[0]);
	elf_cache__free(c);
}

/* For any number of users. */
static void the_hundredth_user_has_no_room(void **state)
{
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *f;

	(void)state;
	for (uint8_t i = 0; i < 100; i++) {
		struct made_elf made = elfmaker__make(i, "f");

		put_file("f", &made, 1000u + i);
		f = open_in(c, "f");
		assert_non_null(f);
		assert_int_equal(elf_file__hold(f, i < 28 ? 128 * MB >> i : 1), i < 28);
	}
	elf_cache__free(c);
}

/* A user's file with the build ID of a trusted one stands only for itself, whichever came first. */
static void forged_build_ids_change_no_other_file(void **state)
{
	struct made_elf made = elfmaker__make(2, "f"), forged = elfmaker__make(2, "evil");

	(void)state;
	put_file("libc", &made, 0);
	put_file("forged", &forged, 1000);
	put_file("forged2", &forged, 1000);
	for (int first = 0; first < 2; first++) {
		struct elf_cache *c = elf_cache__new(0, 0);
		struct elf_file *f = open_in(c, first ? "forged" : "libc");
		struct elf_file *g = open_in(c, first ? "libc" : "forged");
		struct elf_file *h = open_in(c, "forged2"), *by_id;

		assert_ptr_not_equal(f, g);
		assert_ptr_not_equal(h, f);
		assert_ptr_not_equal(h, g);
		by_id = elf_cache__by_build_id(c, &f->build_id);
		assert_ptr_equal(by_id, first ? g : f);
		assert_true(by_id->trusted);
		elf_cache__free(c);
	}
}

static void expectations_are_checked(void **state)
{
	struct made_elf made = elfmaker__make(3, "f");
	struct build_id other = { 20, { 4 } };
	struct elf_cache *c = elf_cache__new(0, 0);
	struct stat st;

	(void)state;
	put_file("x", &made, 0);
	assert_int_equal(stat(in_dir("x"), &st), 0);
	assert_null(elf_cache__find(c, &st, NULL));
	assert_int_equal(errno, ENOENT);
	assert_null(elf_cache__open(c, open(in_dir("x"), O_RDONLY), "x", &other));
	assert_int_equal(errno, ESTALE);
	assert_null(elf_cache__find(c, &st, &other));
	assert_int_equal(errno, ESTALE);
	elf_file__put(elf_cache__find(c, &st, NULL));
	assert_int_equal(elf_cache__cnt(c), 1);
	assert_null(elf_cache__by_build_id(c, &other));
	elf_cache__free(c);
}

/* Changed in place: another file with the same inode. */
static void changed_files_are_read_again(void **state)
{
	struct made_elf made = elfmaker__make(4, "f"), changed = elfmaker__make(5, "f");
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *f, *g;

	(void)state;
	put_file("y", &made, 1000);
	f = open_in(c, "y");
	usleep(20000); /* change times are as coarse as the kernel's tick */
	put_file("y", &changed, 1000);
	g = open_in(c, "y");
	assert_ptr_not_equal(f, g);
	assert_int_equal(g->build_id.bytes[0], 5);
	elf_cache__free(c);
}

static void files_that_are_no_elf_are_remembered(void **state)
{
	int fd = elfmaker__write(in_dir("locale"), "LOCALE", 6);
	struct elf_cache *c = elf_cache__new(0, 0);
	struct stat st;

	(void)state;
	fstat(fd, &st);
	assert_null(elf_cache__open(c, fd, "locale", NULL));
	assert_int_equal(errno, ENOEXEC);
	assert_null(elf_cache__adopt(c, NULL, &st));
	assert_null(elf_cache__find(c, &st, NULL));
	assert_int_equal(errno, ENOEXEC);
	assert_null(elf_cache__open(c, -1, "closed", NULL));
	assert_int_equal(errno, EBADF);
	elf_cache__free(c);
}

static void count_free(void *data)
{
	++*(int *)data;
}

/* Idle files are bounded, evicted in the order of their last use, together with their attachments.
 */
static void idle_files_are_bounded(void **state)
{
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *kept;
	int freed = 0;

	(void)state;
	for (int i = 0; i < 1100; i++) {
		struct made_elf made = elfmaker__make(0, "f");
		struct elf_file *f;

		memcpy(made.note.id, &i, sizeof(i));
		put_file("z", &made, 0);
		f = open_in(c, "z");
		assert_non_null(f);
		f->slots[ELF_SLOT_SYMBOLS] =
			(struct elf_attachment){ .data = &freed, .free = count_free };
		if (i == 0)
			kept = f;
		else
			elf_file__put(f);
		unlink(in_dir("z"));
	}
	assert_int_equal(elf_cache__cnt(c), 1025);
	assert_int_equal(freed, 75);
	assert_int_equal(kept->refs, 1);
	elf_cache__free(c);
	assert_int_equal(freed, 1100);
	elf_cache__free(NULL);
}

static void attach(struct elf_file *f, enum elf_slot slot, int *freed)
{
	f->slots[slot] = (struct elf_attachment){ .data = freed, .free = count_free, .sz = 100 };
}

/* What is used survives, also what is pinned; the table of a mapped file is in use. */
static void unused_data_is_freed_and_files_stay(void **state)
{
	struct made_elf made = elfmaker__make(1, "f"), other = elfmaker__make(2, "f");
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *mapped, *idle;
	size_t sz[ELF_SLOT_CNT];
	int freed = 0;

	(void)state;
	put_file("a", &made, 0);
	put_file("b", &other, 0);
	mapped = open_in(c, "a");
	idle = open_in(c, "b");
	attach(mapped, ELF_SLOT_SYMBOLS, &freed);
	attach(mapped, ELF_SLOT_UNWIND, &freed);
	attach(mapped, ELF_SLOT_TABLE, &freed);
	attach(idle, ELF_SLOT_TABLE, &freed);
	elf_file__put(idle);
	elf_file__pin(mapped, ELF_SLOT_SYMBOLS);
	assert_int_equal(elf_cache__sweep(c, 1), 0);
	mapped->slots[ELF_SLOT_UNWIND].age = 0; /* a use */
	assert_int_equal(elf_cache__sweep(c, 1), 100);
	assert_null(idle->slots[ELF_SLOT_TABLE].data);
	assert_int_equal(elf_cache__sweep(c, 1), 100);
	assert_null(mapped->slots[ELF_SLOT_UNWIND].data);
	elf_cache__sizes(c, sz);
	assert_int_equal(sz[ELF_SLOT_SYMBOLS], 100); /* pinned, but in memory */
	elf_file__unpin(mapped, ELF_SLOT_SYMBOLS);
	elf_cache__sizes(c, sz);
	assert_int_equal(sz[ELF_SLOT_SYMBOLS], 100);
	assert_int_equal(sz[ELF_SLOT_TABLE], 100);
	assert_int_equal(elf_cache__sweep(c, 1), 0);
	assert_int_equal(elf_cache__sweep(c, 1), 100);
	assert_int_equal(elf_cache__sweep(c, 0), 0);
	assert_non_null(mapped->slots[ELF_SLOT_TABLE].data);
	assert_int_equal(freed, 3);
	assert_int_equal(elf_cache__cnt(c), 2);
	elf_file__put(mapped);
	elf_cache__free(c);
	assert_int_equal(freed, 4);
}

static void shrinking_frees_what_is_longest_unused(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct elf_cache *c = elf_cache__new(0, 0);
	struct elf_file *f;
	int freed = 0;

	(void)state;
	put_file("a", &made, 0);
	f = open_in(c, "a");
	attach(f, ELF_SLOT_SYMBOLS, &freed);
	elf_cache__sweep(c, 9);
	attach(f, ELF_SLOT_UNWIND, &freed);
	assert_int_equal(elf_cache__shrink(c, 1), 100);
	assert_null(f->slots[ELF_SLOT_SYMBOLS].data);
	assert_non_null(f->slots[ELF_SLOT_UNWIND].data);
	assert_int_equal(elf_cache__shrink(c, 1000), 100);
	assert_int_equal(elf_cache__shrink(c, 1000), 0);
	elf_file__put(f);
	elf_cache__free(c);
}

/* Room for untrusted files comes back with the data that took it. */
static void freed_data_of_untrusted_files_makes_room(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct elf_cache *c = elf_cache__new(0, 2 * MB);
	struct elf_file *f;
	int freed = 0;

	(void)state;
	put_file("theirs", &made, 1000);
	f = open_in(c, "theirs");
	assert_true(elf_file__hold(f, MB));
	assert_false(elf_file__hold(f, 1));
	attach(f, ELF_SLOT_UNWIND, &freed);
	f->slots[ELF_SLOT_UNWIND].held = MB;
	elf_cache__shrink(c, 1);
	assert_true(elf_file__hold(f, MB));
	elf_file__put(f);
	elf_cache__free(c);
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Most tests are about ownership. */
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trusted_files_are_shared),
		cmocka_unit_test(files_have_the_kernels_names),
		cmocka_unit_test(files_of_others_hold_little),
		cmocka_unit_test(the_hundredth_user_has_no_room),
		cmocka_unit_test(forged_build_ids_change_no_other_file),
		cmocka_unit_test(expectations_are_checked),
		cmocka_unit_test(changed_files_are_read_again),
		cmocka_unit_test(files_that_are_no_elf_are_remembered),
		cmocka_unit_test(idle_files_are_bounded),
		cmocka_unit_test(unused_data_is_freed_and_files_stay),
		cmocka_unit_test(shrinking_frees_what_is_longest_unused),
		cmocka_unit_test(freed_data_of_untrusted_files_makes_room),
	};

	if (geteuid() != 0) {
		puts("needs root: files of other owners");
		return 77;
	}
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
