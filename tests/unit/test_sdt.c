// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes of USDT probes: valid ones as binutils read them, and files with forged notes. */
#include "elf/section.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/sdttask.h"
#include "lib/shell.h"

/* A small program with one probe of ours and one of another provider. */
static const char SOURCE[] =
	"#include <stacks_tracing.h>\n"
	"void _start(void);\n"
	"void _start(void) { STACKS_EXIT(7); STACKS_EXIT(8);\n"
	"  __asm__ volatile(\"990: nop\\n.pushsection .note.stapsdt, \\\"\\\", \\\"note\\\"\\n\"\n"
	"    \".4byte 8, 2f - 1f, 3\\n.asciz \\\"stapsdt\\\"\\n\"\n"
	"    \"1: .8byte 990b, 0, 0\\n.asciz \\\"other\\\", \\\"probe\\\", \\\"\\\"\\n2: .balign "
	"4\\n.popsection\"); }\n";

struct found {
	struct sdt_note notes[8];
	size_t cnt;
};

static int keep(const struct sdt_note *n, void *arg)
{
	struct found *f = arg;

	assert_true(f->cnt < 8);
	f->notes[f->cnt++] = *n;
	return 0;
}

static int build(void **state)
{
	if (shell__setup(state) != 0)
		return -1;
	shell__write(*state, "p.c", SOURCE);
	shell__run("gcc -O0 -Iinclude -nostdlib -static -Wl,--build-id=none -s -o '%s/p' '%s/p.c' "
		   "2>&1",
		   (char *)*state, (char *)*state);
	return 0;
}

static struct elf_file *open_in(const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return elf_file__open(path);
}

static void notes_are_read(void **state)
{
	struct elf_file *f = open_in(*state, "p");
	struct found found = { .cnt = 0 };
	struct sdt_place place, other;
	const char *why = NULL;

	assert_non_null(f);
	assert_int_equal(sdt_task__each(NULL, f, keep, &found), 0);
	assert_int_equal(found.cnt, 3);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(found.notes[i].provider, "stacks_tracing");
		assert_string_equal(found.notes[i].name, "exit");
		assert_string_equal(found.notes[i].args, "8@%rdi");
	}
	assert_true(found.notes[0].pc != found.notes[1].pc);
	assert_int_equal(found.notes[0].semaphore, found.notes[1].semaphore);
	assert_int_equal(sdt__place(f, &found.notes[0], &place, &why), 0);
	assert_int_equal(sdt__place(f, &found.notes[1], &other, &why), 0);
	assert_int_equal(place.semaphore_off, other.semaphore_off);
	assert_int_equal(other.pc_off - place.pc_off, found.notes[1].pc - found.notes[0].pc);
	assert_string_equal(found.notes[2].provider, "other");
	assert_string_equal(found.notes[2].args, "");
	assert_int_equal(sdt__place(f, &found.notes[2], &place, &why), 0);
	assert_int_equal(place.semaphore_off, 0);
	assert_null(why);
	elf_file__put(f);
}

/* A callback's return value ends the search; a file without notes has none. */
static int stop_at_second(const struct sdt_note *n, void *arg)
{
	(void)n;
	return ++*(int *)arg == 2 ? -ECANCELED : 0;
}

static void reading_can_end_early(void **state)
{
	struct elf_file *f = open_in(*state, "p"), *none = elf_file__open("/bin/true");
	int cnt = 0;

	assert_int_equal(sdt__each(f, stop_at_second, &cnt), -ECANCELED);
	assert_int_equal(cnt, 2);
	assert_int_equal(sdt__each(none, stop_at_second, &cnt), -ENOENT);
	elf_file__put(f);
	elf_file__put(none);
}

/* ---- forged files -------------------------------------------------------------------------------
 */

struct image {
	uint8_t bytes[65536];
	size_t sz, notes, notes_sz; /* the section */
	char path[512];
};

static void load(struct image *im, const char *folder)
{
	struct elf_file *f = open_in(folder, "p");
	GElf_Shdr sh;
	ssize_t got;

	assert_non_null(f);
	assert_true(section__named(f, ".note.stapsdt", &sh));
	got = pread(f->fd, im->bytes, sizeof(im->bytes), 0);
	assert_in_range(got, 1, sizeof(im->bytes) - 1);
	im->sz = (size_t)got;
	im->notes = sh.sh_offset;
	im->notes_sz = sh.sh_size;
	snprintf(im->path, sizeof(im->path), "%s/forged", folder);
	elf_file__put(f);
}

/* Returns the result of reading the forged file, and then the place of its first note. */
static int judge(const struct image *im, const char **why)
{
	struct found found = { .cnt = 0 };
	struct sdt_place place;
	struct elf_file *f;
	int err, fd = open(im->path, O_RDWR | O_CREAT | O_TRUNC, 0755);

	assert_int_equal(write(fd, im->bytes, im->sz), im->sz);
	close(fd);
	f = elf_file__open(im->path);
	assert_non_null(f);
	*why = "";
	err = sdt_task__each(NULL, f, keep, &found);
	if (!err)
		err = sdt__place(f, &found.notes[0], &place, why);
	elf_file__put(f);
	return err;
}

static void put64(struct image *im, size_t off, uint64_t v)
{
	memcpy(im->bytes + im->notes + off, &v, sizeof(v));
}

static void put32(struct image *im, size_t off, uint32_t v)
{
	memcpy(im->bytes + im->notes + off, &v, sizeof(v));
}

#define PC	  20 /* offsets in the first note */
#define SEMAPHORE 36
#define TEXT	  44

static void wrong_places_are_refused(void **state)
{
	static const struct {
		size_t off;
		int64_t by;
		uint64_t to;
		const char *why;
	} lies[] = {
		{ PC, 2, 0, "there is no nop at its address" },
		{ PC, 0, 0, "its address is not in the code" },
		{ PC, 0, UINT64_MAX, "its address is not in the code" },
		{ SEMAPHORE, 1, 0, "its semaphore is not in the section .probes" },
		{ SEMAPHORE, 64, 0, "its semaphore is not in the section .probes" },
		{ SEMAPHORE, -64, 0, "its semaphore is not in the section .probes" },
		{ SEMAPHORE, 0, UINT64_MAX - 1, "its semaphore is not in the section .probes" },
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		struct image im;
		const char *why;
		uint64_t v;

		load(&im, *state);
		memcpy(&v, im.bytes + im.notes + lies[i].off, sizeof(v));
		put64(&im, lies[i].off, lies[i].by ? v + (uint64_t)lies[i].by : lies[i].to);
		assert_int_equal(judge(&im, &why), -EBADMSG);
		assert_string_equal(why, lies[i].why);
	}
}

static void malformed_notes_are_refused(void **state)
{
	static const struct {
		size_t off;
		uint32_t to;
	} lies[] = {
		{ 0, UINT32_MAX }, { 0, 1u << 20 }, { 4, UINT32_MAX }, { 4, UINT32_MAX - 2 },
		{ 4, 1u << 20 },   { 4, 23 },	    { 4, 24 },	       { 4, 30 },
	};
	struct image im;
	const char *why;

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		load(&im, *state);
		put32(&im, lies[i].off, lies[i].to);
		assert_int_equal(judge(&im, &why), -EBADMSG);
	}
	/* strings without an end */
	load(&im, *state);
	memset(im.bytes + im.notes + TEXT, 'x', im.notes_sz - TEXT);
	assert_int_equal(judge(&im, &why), -EBADMSG);
	/* other notes are skipped, whatever their contents */
	load(&im, *state);
	put32(&im, 8, 4);
	put64(&im, PC, 0);
	assert_int_equal(judge(&im, &why), 0);
}

/* Changes every byte of the notes, one at a time: nothing outside is read. */
static void no_byte_leads_astray(void **state)
{
	struct image im;
	const char *why;

	load(&im, *state);
	for (size_t i = 0; i < im.notes_sz; i++) {
		uint8_t before = im.bytes[im.notes + i];

		im.bytes[im.notes + i] = 0xff;
		judge(&im, &why);
		im.bytes[im.notes + i] = before;
	}
	assert_int_equal(judge(&im, &why), 0);
}

#define test_with_program(f) cmocka_unit_test_setup_teardown(f, build, shell__teardown)

RUN_TESTS(test_with_program(notes_are_read), test_with_program(reading_can_end_early),
	  test_with_program(wrong_places_are_refused),
	  test_with_program(malformed_notes_are_refused), test_with_program(no_byte_leads_astray))
