// SPDX-License-Identifier: GPL-2.0-or-later
/* The identity of files in the ids of stacks. */
#include "lib/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stacks/origin.h"
#include "lib/elfmaker.h"

static char path[] = "/tmp/test_origin.XXXXXX";

/* Returns the origin of the made bytes as a file of `owner`. */
static uint64_t origin_of(const struct made_elf *made, uid_t owner)
{
	int fd = elfmaker__write(path, made, sizeof(*made));
	struct elf_file *f;
	uint64_t origin;

	if (geteuid() != 0)
		skip_because("only root can give files away");
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, owner, 0), 0);
	close(fd);
	f = elf_file__open(path);
	assert_non_null(f);
	assert_int_equal(f->origin, 0); /* not computed here */
	origin = origin__of(f);
	elf_file__put(f);
	return origin;
}

static void roots_files_use_the_build_id(void **state)
{
	struct made_elf made = elfmaker__make(1, "f"), same = elfmaker__make(1, "g"),
			other = elfmaker__make(2, "f");
	uint64_t origin = origin_of(&made, 0);

	(void)state;
	assert_true(origin & ORIGIN_FILE);
	assert_int_equal(origin, origin_of(&same, 0));
	assert_int_not_equal(origin, origin_of(&other, 0));
	assert_int_not_equal(origin, origin_of(&made, 1000));
	/* SHA-256 of "\1\x14" and the build ID, from `printf | sha256sum` */
	assert_int_equal(origin, 0xcae02c9805d706feu);
}

static void files_of_others_also_use_the_symbols(void **state)
{
	struct made_elf made = elfmaker__make(1, "f"), other = elfmaker__make(1, "g");
	uint64_t origin = origin_of(&made, 1000);

	(void)state;
	assert_true(origin & ORIGIN_FILE);
	assert_int_equal(origin, origin_of(&made, 1000));
	assert_int_equal(origin, origin_of(&made, 1001));
	assert_int_not_equal(origin, origin_of(&other, 1000));
	memset(made.code, 0x90, sizeof(made.code));
	assert_int_equal(origin, origin_of(&made, 1000));
	/* A table too large to hash: a unique origin. */
	made.shdrs[1].sh_size = 1ull << 40;
	origin = origin_of(&made, 1000);
	unlink(path);
	assert_int_not_equal(origin, origin_of(&made, 1000));
}

/* Go's table of functions counts if there is no symbol table. */
static void files_of_others_also_use_the_table_of_go(void **state)
{
	struct made_elf made = elfmaker__make(1, "f"), other;
	uint64_t origin;

	(void)state;
	memcpy(made.shstrtab, "\0.gopclntab", 12);
	made.shdrs[1].sh_type = SHT_PROGBITS;
	made.shdrs[1].sh_offset = offsetof(struct made_elf, code);
	made.shdrs[1].sh_size = 64;
	made.shdrs[1].sh_link = 0;
	origin = origin_of(&made, 1000);
	other = made;
	other.code[63]++;
	assert_int_not_equal(origin, origin_of(&other, 1000));
	other = made;
	other.code[64]++;
	assert_int_equal(origin, origin_of(&other, 1000));
}

static void files_without_a_build_id_have_no_origin(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");

	(void)state;
	made.note.hdr.n_descsz = 0;
	assert_int_equal(origin_of(&made, 0), 0);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_files_use_the_build_id),
		cmocka_unit_test(files_of_others_also_use_the_symbols),
		cmocka_unit_test(files_of_others_also_use_the_table_of_go),
		cmocka_unit_test(files_without_a_build_id_have_no_origin),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
