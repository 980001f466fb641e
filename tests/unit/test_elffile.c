// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/section.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/elfmaker.h"
#include "elf/elffile.h"

static char path[] = "/tmp/test_elffile.XXXXXX";

/* Makes a file with these bytes that belongs to `owner`. */
static struct elf_file *open_made(const void *data, size_t sz, uid_t owner)
{
	int fd = elfmaker__write(path, data, sz);

	assert_true(fd >= 0);
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, owner, 0), 0);
	close(fd);
	return elf_file__open(path);
}

static void reads_an_existing_file(void **state)
{
	struct made_elf made = elfmaker__make(0xab, "f");
	struct elf_file *f = open_made(&made, sizeof(made), 1);
	uint64_t vaddr;
	uint8_t *data;
	GElf_Shdr sh;
	size_t sz;

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->build_id.sz, 20);
	assert_memory_equal(f->build_id.bytes, made.note.id, 20);
	assert_string_equal(f->path, path);
	assert_int_equal(f->segment_cnt, 2);
	assert_true(elf_file__vaddr(f, offsetof(struct made_elf, code) + 5, &vaddr));
	assert_int_equal(vaddr, MADE_CODE_VADDR + 5);
	assert_true(elf_file__vaddr(f, 7, &vaddr));
	assert_int_equal(vaddr, 7);
	assert_false(elf_file__vaddr(f, sizeof(made), &vaddr));
	assert_int_equal(vaddr, 0);
	assert_true(section__named(f, ".strtab", &sh));
	data = section__read(f, &sh, &sz);
	assert_non_null(data);
	assert_int_equal(sz, sizeof(made.strtab));
	assert_memory_equal(data, made.strtab, sizeof(made.strtab));
	free(data);
	assert_false(section__named(f, ".nothing", &sh));
	assert_int_equal(sh.sh_size, 0);
	elf_file__put(f);
}

/* Only build IDs of files that root owns and no other user can write are trusted. */
static void trusts_root_only(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct elf_file *f;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can give files away");
	for (int i = 0; i < 4; i++) {
		f = open_made(&made, sizeof(made), i == 1 ? 1000 : 0);
		elf_file__put(f);
		assert_int_equal(chmod(path, i == 2 ? 0775 : i == 3 ? 0757 : 0755), 0);
		f = elf_file__open(path);
		assert_int_equal(f->trusted, i == 0);
		elf_file__put(f);
	}
}

static void build_ids_of_any_length(void **state)
{
	static const unsigned sizes[] = { 1, 8, 16, 20 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct made_elf made = elfmaker__make(7, "f");
		struct elf_file *f;

		made.note.hdr.n_descsz = sizes[i];
		f = open_made(&made, sizeof(made), 0);
		assert_int_equal(f->build_id.sz, sizes[i]);
		elf_file__put(f);
		made.note.hdr.n_descsz = 4000; /* past the segment: none */
		f = open_made(&made, sizeof(made), 0);
		assert_int_equal(f->build_id.sz, 0);
		elf_file__put(f);
	}
}

static void refuse(const void *data, size_t sz)
{
	struct elf_file *f = open_made(data, sz, 0);

	assert_null(f);
	assert_int_equal(errno, ENOEXEC);
}

static void refuses_files_that_are_no_program(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");

	(void)state;
	refuse("", 0);
	refuse("#!/bin/sh\n", 10);
	refuse(&made, sizeof(made.ehdr) - 1);
	made.ehdr.e_type = ET_CORE;
	refuse(&made, sizeof(made));
	made = elfmaker__make(1, "f");
	made.ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
	refuse(&made, sizeof(made));
	/* Counts by which libelf would allocate memory. */
	made = elfmaker__make(1, "f");
	made.ehdr.e_shnum = 0;
	made.shdrs[0].sh_size = 1u << 30;
	refuse(&made, sizeof(made));
	made = elfmaker__make(1, "f");
	made.ehdr.e_phnum = PN_XNUM;
	refuse(&made, sizeof(made));
	assert_null(elf_file__open("/nothing/there"));
	assert_int_equal(errno, ENOENT);
	assert_null(elf_file__open("/"));
	assert_null(elf_file__open("/dev/null"));
}

/* A truncated file gives its remaining data, and no signal. */
static void survives_truncation(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");

	(void)state;
	for (size_t sz = 0; sz < sizeof(made); sz += 7) {
		struct elf_file *f = open_made(&made, sz, 1000);

		elf_file__put(f);
	}
	for (size_t sz = 0; sz < offsetof(struct made_elf, code); sz += 3) {
		struct elf_file *f = open_made(&made, sizeof(made), 1000);
		GElf_Shdr sh;
		size_t read_sz;

		assert_non_null(f);
		assert_int_equal(truncate(path, (off_t)sz), 0);
		if (section__named(f, ".symtab", &sh))
			free(section__read(f, &sh, &read_sz));
		elf_file__put(f);
	}
}

static size_t peak_kb(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (size_t)use.ru_maxrss;
}

/* Sections of 4 GB in a sparse file cost its owner nothing: they must not cost us memory. */
static void a_sparse_file_is_an_error(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	size_t before_kb = peak_kb();
	struct elf_file *f;
	GElf_Shdr sh;

	(void)state;
	made.shdrs[1].sh_size = made.shdrs[2].sh_size = 4ull << 30;
	f = open_made(&made, sizeof(made), 1000);
	elf_file__put(f);
	assert_int_equal(truncate(path, 5ll << 30), 0);
	f = elf_file__open(path);
	assert_non_null(f);
	assert_true(section__named(f, ".symtab", &sh));
	assert_int_equal(sh.sh_size, 4ull << 30);
	assert_null(section__read(f, &sh, &(size_t){ 0 }));
	elf_file__put(f);
	made.shdrs[3].sh_size = 4ull << 30; /* the names themselves */
	f = open_made(&made, sizeof(made), 1000);
	assert_int_equal(truncate(path, 5ll << 30), 0);
	assert_false(section__named(f, ".symtab", &sh));
	elf_file__put(f);
	assert_true(peak_kb() - before_kb < 100 * 1024);
}

/* A number of sections that the header declares only after it has been checked. */
static void a_changed_header_is_noticed(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct elf_file *f = open_made(&made, sizeof(made), 0);
	int fd = open(path, O_WRONLY);

	(void)state;
	made.ehdr.e_shnum = 0;
	made.shdrs[0].sh_size = 10000000;
	assert_int_equal(pwrite(fd, &made, sizeof(made), 0), sizeof(made));
	close(fd);
	assert_null(elf_file__elf(f));
	elf_file__put(f);
}

/* libelf is needed only for what is compressed. */
static void is_opened_without_libelf(void **state)
{
	struct elf_file *f = elf_file__open("/bin/sh");
	GElf_Shdr sh;

	(void)state;
	assert_non_null(f);
	assert_true(f->segment_cnt > 0 && f->build_id.sz > 0 && f->machine);
	assert_true(section__named(f, ".text", &sh));
	assert_null(f->elf);
	elf_file__put(f);
}

static void code_wins_where_segments_overlap(void **state)
{
	struct made_elf made = elfmaker__make(1, "f");
	struct elf_file *f;
	uint64_t vaddr;

	(void)state;
	made.phdrs[0].p_filesz = sizeof(made);
	f = open_made(&made, sizeof(made), 0);
	assert_true(elf_file__vaddr(f, offsetof(struct made_elf, code), &vaddr));
	assert_int_equal(vaddr, MADE_CODE_VADDR);
	elf_file__put(f);
	made.phdrs[1].p_offset = UINT64_MAX - 10; /* its end would wrap around */
	f = open_made(&made, sizeof(made), 0);
	assert_int_equal(f->segment_cnt, 1);
	elf_file__put(f);
}

static void opens_from_memory(void **state)
{
	struct made_elf made = elfmaker__make(9, "f");
	void *image = malloc(sizeof(made));
	struct elf_file *f;

	(void)state;
	memcpy(image, &made, sizeof(made));
	f = elf_file__from_memory(image, sizeof(made), "[vdso]");
	assert_true(f->trusted);
	assert_int_equal(f->build_id.bytes[0], 9);
	elf_file__put(elf_file__get(f));
	elf_file__put(f);
	assert_null(elf_file__from_memory(calloc(1, 64), 64, "[vdso]"));
	elf_file__put(NULL);
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
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_an_existing_file),
		cmocka_unit_test(trusts_root_only),
		cmocka_unit_test(build_ids_of_any_length),
		cmocka_unit_test(refuses_files_that_are_no_program),
		cmocka_unit_test(survives_truncation),
		cmocka_unit_test(a_sparse_file_is_an_error),
		cmocka_unit_test(a_changed_header_is_noticed),
		cmocka_unit_test(code_wins_where_segments_overlap),
		cmocka_unit_test(is_opened_without_libelf),
		cmocka_unit_test(opens_from_memory),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
