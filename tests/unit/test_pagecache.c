// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of files are read once for any sequence of reads, and never past the file's end. */
#include "lib/test.h"

#include <errno.h>

#include "elf/pagecache.h"

#define FILE_SZ (3 * 4096 + 100)
#define FAKE	.file.sz = FILE_SZ

struct fake {
	struct elf_file file; /* only its size is used */
	uint8_t salt;
	size_t reads;
	int err;
};

static uint8_t byte_at(const struct fake *f, uint64_t off)
{
	return (uint8_t)(off * 7 + (off >> 8) + f->salt);
}

static int read_fake(const struct elf_file *file, uint64_t off, void *to, size_t sz)
{
	struct fake *f = (struct fake *)file;

	f->reads++;
	if (f->err)
		return f->err;
	if (off > FILE_SZ || sz > FILE_SZ - off)
		return -EIO;
	for (size_t i = 0; i < sz; i++)
		((uint8_t *)to)[i] = byte_at(f, off + i);
	return 0;
}

static int get(const struct paged_file *p, struct fake *f, uint64_t off, size_t sz)
{
	uint8_t bytes[8192];
	int err = paged_file__read(p, (struct page_read){ &f->file, read_fake, off, sz }, bytes);

	for (size_t i = 0; !err && i < sz; i++)
		assert_int_equal(bytes[i], byte_at(f, off + i));
	return err;
}

static void a_page_is_read_once(void **state)
{
	struct page_cache *pages = page_cache__new();
	struct paged_file one = page_cache__add(pages), two = page_cache__add(pages);
	struct fake a = { FAKE, .salt = 1 }, b = { FAKE, .salt = 2 };

	(void)state;
	for (uint64_t off = 0; off < 4096; off += 100)
		assert_int_equal(get(&one, &a, off, 50), 0);
	assert_int_equal(a.reads, 1);
	assert_int_equal(get(&one, &a, 4000, 5000), 0); /* this page, the second and the third */
	assert_int_equal(a.reads, 3);
	assert_int_equal(get(&two, &b, 0, 50), 0);
	assert_int_equal(b.reads, 1);
	page_cache__free(pages);
}

static void more_files_than_pages_are_read_again(void **state)
{
	struct page_cache *pages = page_cache__new();
	struct paged_file paged[300];
	struct fake files[300] = { 0 };

	(void)state;
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < 300; i++) {
			if (!round)
				paged[i] = page_cache__add(pages);
			files[i] = (struct fake){ FAKE, .salt = (uint8_t)i };
			assert_int_equal(get(&paged[i], &files[i], 4090, 12), 0);
		}
	}
	page_cache__free(pages);
}

/* Even if both belong to the same set. */
static void two_pages_are_kept(void **state)
{
	struct page_cache *pages = page_cache__new();
	struct paged_file kept = page_cache__add(pages);
	struct fake a = { FAKE };

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		struct paged_file other = page_cache__add(pages);
		struct fake b = { FAKE, .salt = (uint8_t)i };

		for (size_t turn = 0; turn < 5; turn++) {
			assert_int_equal(get(&kept, &a, 0, 50), 0);
			assert_int_equal(get(&other, &b, 0, 50), 0);
		}
		assert_int_equal(b.reads, 1);
	}
	page_cache__free(pages);
}

static void bytes_behind_the_end_are_an_error(void **state)
{
	struct page_cache *pages = page_cache__new();
	struct paged_file p = page_cache__add(pages);
	struct fake f = { FAKE, .err = -EAGAIN };

	(void)state;
	assert_int_equal(get(&p, &f, 10, 10), -EAGAIN);
	f.err = 0;
	assert_int_equal(get(&p, &f, 10, 10), 0);
	assert_int_equal(get(&p, &f, FILE_SZ - 50, 50), 0); /* of a partial page */
	assert_int_equal(get(&p, &f, FILE_SZ - 50, 51), -EIO);
	assert_int_equal(get(&p, &f, UINT64_MAX, 1), -EIO);
	f.err = -EAGAIN;
	assert_int_equal(get(&p, &f, 20, 10), 0);
	page_cache__free(pages);
}

static void a_cache_without_pages_reads_each_time(void **state)
{
	struct paged_file p = page_cache__add(NULL);
	struct fake f = { FAKE };

	(void)state;
	assert_int_equal(get(&p, &f, 10, 5000), 0);
	assert_int_equal(get(&p, &f, 10, 10), 0);
	assert_int_equal(f.reads, 2);
	page_cache__free(NULL);
}

static void the_last_page_is_as_long_as_the_file(void **state)
{
	struct page_cache *pages = page_cache__new();
	struct paged_file p = page_cache__add(pages);
	struct fake f = { FAKE };

	(void)state;
	assert_int_equal(get(&p, &f, FILE_SZ - 50, 20), 0);
	assert_int_equal(get(&p, &f, FILE_SZ - 30, 30), 0);
	assert_int_equal(f.reads, 1);
	assert_int_equal(get(&p, &f, FILE_SZ - 30, 31), -EIO);
	page_cache__free(pages);
}

static void bytes_are_seen_without_a_copy(void **state)
{
	struct page_cache *pages = page_cache__new();
	struct paged_file p = page_cache__add(pages);
	struct fake f = { FAKE };
	struct page_read from = { &f.file, read_fake, 4096 + 16, 64 };
	uint8_t room[64];
	const void *at;

	(void)state;
	assert_int_equal(paged_file__see(&p, from, room, &at), 0);
	assert_ptr_not_equal(at, room);
	assert_int_equal((uintptr_t)at % 16, 0);
	assert_int_equal(*(const uint8_t *)at, byte_at(&f, from.off));
	from.off = 2 * 4096 - 10; /* of two pages */
	assert_int_equal(paged_file__see(&p, from, room, &at), 0);
	assert_ptr_equal(at, room);
	for (size_t i = 0; i < sizeof(room); i++)
		assert_int_equal(room[i], byte_at(&f, from.off + i));
	from.off = FILE_SZ - 10;
	assert_int_equal(paged_file__see(&p, from, room, &at), -EIO);
	page_cache__free(pages);
}

RUN_TESTS(cmocka_unit_test(a_page_is_read_once),
	  cmocka_unit_test(more_files_than_pages_are_read_again),
	  cmocka_unit_test(two_pages_are_kept), cmocka_unit_test(bytes_behind_the_end_are_an_error),
	  cmocka_unit_test(a_cache_without_pages_reads_each_time),
	  cmocka_unit_test(the_last_page_is_as_long_as_the_file),
	  cmocka_unit_test(bytes_are_seen_without_a_copy))
