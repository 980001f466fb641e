// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules without a table: equal to those of a table, and only errors for forged files. */
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#include "lib/shell.h"
#include "elf/sectionheaders.h"
#include "cfi/tablebuild.h"

/* 100 functions: every third has no call-frame information, and every fifth is followed by a hole.
 * More than one cached block of the search table. */
static const char source[] = ".set i,0\n"
			     ".rept 100\n"
			     " .p2align 6\n"
			     " .if i % 3\n"
			     "  .cfi_startproc\n  nop\n  .cfi_def_cfa_offset 16\n"
			     "  .cfi_offset %rbp,-16\n  .skip 20\n"
			     "  .cfi_def_cfa_offset 16 + 8 * i\n  nop\n  .cfi_endproc\n"
			     " .endif\n"
			     " nop\n"
			     " .if i % 5 == 0\n  .skip 100\n .endif\n"
			     " .set i,i+1\n"
			     ".endr\n";

static const struct lazy_reader reader = { .read = elf_file__read };

struct rig {
	char *dir;
	uint8_t *image; /* of the file */
	size_t sz;
	struct section_headers headers;
	uint64_t code, code_sz; /* in the file */
};

static struct elf_file *open_file(const char *dir)
{
	char *path = shell__output("printf %%s %s/lib.so", dir);
	struct elf_file *f = elf_file__open(path);

	free(path);
	return f;
}

static void read_image(struct rig *r, struct elf_file *f)
{
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	r->sz = (size_t)st.st_size;
	r->image = malloc(r->sz);
	assert_int_equal(elf_file__read(f, 0, r->image, r->sz), 0);
	assert_int_equal(section_headers__read(&r->headers, f, elf_file__read), 0);
	for (size_t i = 0; i < f->segment_cnt; i++) {
		if (!(f->segments[i].flags & PF_X))
			continue;
		r->code = f->segments[i].off;
		r->code_sz = f->segments[i].sz;
	}
}

static void build(struct rig *r, const char *flags)
{
	struct elf_file *f;

	shell__write(r->dir, "lib.s", source);
	shell__run("cd %s && gcc -shared -nostdlib %s -o lib.so lib.s 2>&1", r->dir, flags);
	f = open_file(r->dir);
	assert_non_null(f);
	read_image(r, f);
	elf_file__put(f);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	return !r || shell__setup((void **)&r->dir);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	shell__teardown((void **)&r->dir);
	free(r->image);
	free(r);
	return 0;
}

/* Returns the file with the present contents of the image. */
static struct elf_file *reopen(const struct rig *r)
{
	uint8_t *copy = malloc(r->sz);

	memcpy(copy, r->image, r->sz);
	return elf_file__from_memory(copy, r->sz, "lib.so");
}

static int ask(struct lazy_table *x, const struct elf_file *f, uint64_t off,
	       struct packed_rule *rule)
{
	const struct lazy_query query = { f, elf_file__read, off };

	return lazy_table__rule(x, &query, rule);
}

static void rules_equal_those_of_the_table(void **state)
{
	struct rig *r = *state;
	struct cfi_table *t;
	struct lazy_table *x;
	struct elf_file *f;

	build(r, "");
	f = open_file(r->dir);
	x = lazy_table__of_file(f, reader);
	assert_non_null(x);
	t = cfi_table__of_file(f);
	for (uint64_t off = 0; off < r->code_sz; off++) {
		struct packed_rule rule, expected = cfi_table__at(t, r->code + off);

		assert_int_equal(ask(x, f, r->code + off, &rule), 0);
		assert_int_equal(packed_rule__bits(rule), packed_rule__bits(expected));
	}
	assert_in_range(lazy_table__sz(x), 1, 8192);
	free(t);
	lazy_table__free(x);
	elf_file__put(f);
}

/* For any earlier look-ups: all of a foreign program, some places at a time. */
static void the_order_makes_no_difference(void **state)
{
	struct elf_file *f = elf_file__open("/bin/sh");
	struct cfi_table *t = cfi_table__of_file(f);
	uint64_t from = t->first_page << TABLE_PAGE_BITS, sz = t->page_cnt << TABLE_PAGE_BITS;
	size_t answers = 0;

	(void)state;
	srandom(1);
	for (int round = 0; round < 300; round++) {
		struct lazy_table *x = lazy_table__of_file(f, reader);
		uint64_t around = from + (uint64_t)random() % sz;

		for (int i = 0; i < 200; i++) {
			uint64_t off = i % 2 ? around + (uint64_t)random() % 4096
					     : from + (uint64_t)random() % sz;
			struct packed_rule rule, expected = cfi_table__at(t, off);

			if (ask(x, f, off, &rule))
				continue;
			answers++;
			assert_int_equal(packed_rule__bits(rule), packed_rule__bits(expected));
		}
		lazy_table__free(x);
	}
	assert_in_range(answers, 30000, 60000);
	free(t);
	elf_file__put(f);
}

/* Reading may evict pages that were read before: more pages are needed than are kept. */
static void nor_does_what_pages_are_kept(void **state)
{
	struct elf_file *f = elf_file__open("/lib/x86_64-linux-gnu/libc.so.6");
	const struct lazy_reader paged = { elf_file__read, page_cache__new() };
	struct cfi_table *t = cfi_table__of_file(f);
	uint64_t from = t->first_page << TABLE_PAGE_BITS, sz = t->page_cnt << TABLE_PAGE_BITS;
	struct lazy_table *many[8], *same;

	(void)state;
	srandom(2);
	for (int round = 0; round < 30; round++) {
		same = lazy_table__of_file(f, reader);
		for (size_t i = 0; i < 8; i++)
			many[i] = lazy_table__of_file(f, paged);
		for (size_t i = 0; i < 2000; i++) {
			uint64_t off = from + (uint64_t)random() % sz;
			struct packed_rule rule, expected;
			int err = ask(same, f, off, &expected);

			assert_int_equal(ask(many[i % 8], f, off, &rule), err);
			if (!err)
				assert_int_equal(packed_rule__bits(rule),
						 packed_rule__bits(expected));
		}
		for (size_t i = 0; i < 8; i++)
			lazy_table__free(many[i]);
		lazy_table__free(same);
	}
	page_cache__free(paged.pages);
	free(t);
	elf_file__put(f);
}

static void places_outside_code_have_no_answer(void **state)
{
	struct rig *r = *state;
	struct packed_rule rule;
	struct lazy_table *x;
	struct elf_file *f;

	build(r, "");
	f = open_file(r->dir);
	x = lazy_table__of_file(f, reader);
	assert_int_equal(ask(x, f, r->code + r->code_sz, &rule), -EINVAL);
	assert_int_equal(ask(x, f, r->code - 1, &rule), -EINVAL);
	assert_int_equal(ask(x, f, UINT64_MAX, &rule), -EINVAL);
	lazy_table__free(x);
	elf_file__put(f);
}

static void larger_files_have_no_lazy_table(void **state)
{
	struct rig *r = *state;
	struct elf_file *f;

	build(r, "-Wl,--no-eh-frame-hdr");
	f = open_file(r->dir);
	assert_null(lazy_table__of_file(f, reader));
	assert_int_equal(errno, EINVAL);
	elf_file__put(f);
	shell__run("cd %s && gcc -shared -nostdlib -o lib.so lib.s && objcopy "
		   "--add-section .debug_frame=lib.s lib.so",
		   r->dir);
	f = open_file(r->dir);
	assert_null(lazy_table__of_file(f, reader));
	elf_file__put(f);
}

/* ---- forged files -------------------------------------------------------------------------------
 */

static uint8_t *hdr_of(const struct rig *r)
{
	return r->image + section_headers__find(&r->headers, ".eh_frame_hdr")->sh_offset;
}

static void put32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* An FDE that continues after .init, for any order of look-ups. */
static void marks_may_be_in_an_fde(void **state)
{
	static const char init[] = ".globl other\nother:\n nop\n ret\n"
				   ".section .init,\"ax\",@progbits\n.cfi_startproc\n"
				   " sub $8,%rsp\n .skip 20,0x90\n add $8,%rsp\n ret\n"
				   ".cfi_endproc\n";
	struct rig *r = *state;
	struct cfi_table *t;
	struct elf_file *f;

	shell__write(r->dir, "init.s", init);
	shell__run("cd %s && gcc -shared -nostdlib -o lib.so init.s 2>&1", r->dir);
	f = open_file(r->dir);
	read_image(r, f);
	elf_file__put(f);
	put32(r->image + section_headers__find(&r->headers, ".eh_frame")->sh_offset + 36,
	      (uint32_t)r->code_sz);
	f = reopen(r);
	t = cfi_table__of_file(f);
	for (uint64_t first = 0; first < r->code_sz; first++) {
		struct lazy_table *x = lazy_table__of_file(f, reader);

		for (uint64_t i = 0; i < r->code_sz; i++) {
			uint64_t off = r->code + (first + i) % r->code_sz;
			struct packed_rule rule, expected = cfi_table__at(t, off);

			assert_int_equal(ask(x, f, off, &rule), 0);
			assert_int_equal(packed_rule__bits(rule), packed_rule__bits(expected));
		}
		lazy_table__free(x);
	}
	free(t);
	elf_file__put(f);
}

/* Returns the number of places with an answer; -1: there is no lazy table. */
static int answers(const struct rig *r)
{
	struct elf_file *f = reopen(r);
	struct lazy_table *x = f ? lazy_table__of_file(f, reader) : NULL;
	struct packed_rule rule;
	int cnt = 0;

	for (uint64_t off = 0; x && off < r->code_sz; off += 3)
		cnt += ask(x, f, r->code + off, &rule) == 0;
	cnt = x ? cnt : -1;
	lazy_table__free(x);
	elf_file__put(f);
	return cnt;
}

static void an_odd_search_table_is_not_believed(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} lies[] = {
		{ 0, 0x3b031b02 }, { 0, 0x3b031b00 }, { 0, 0x1b031b01 }, { 0, 0x3b0b1b01 },
		{ 4, 0 },	   { 4, 0x7fffffff }, { 8, 0 },		 { 8, 0xffffffff },
		{ 8, 68 },	   { 8, 0x20000001 },
	};
	struct rig *r = *state;

	build(r, "");
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint8_t *at = hdr_of(r) + lies[i].at;
		uint32_t old;

		memcpy(&old, at, sizeof(old));
		put32(at, lies[i].value);
		assert_int_equal(answers(r), -1);
		put32(at, old);
	}
	assert_int_equal(answers(r), (r->code_sz + 2) / 3);
}

/* Entry 10 refers to an FDE of another place. */
static void entries_that_lead_elsewhere_are_not_believed(void **state)
{
	static const uint32_t lies[] = { 0, 0x7fffffff, 0x80000000, 0xfffffff0, 100000, 6, 8 };
	struct rig *r = *state;
	uint8_t *at;
	int all;

	build(r, "");
	all = answers(r);
	at = hdr_of(r) + 12 + 10 * 8 + 4;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		put32(at, lies[i]);
		assert_in_range(answers(r), all - 80, all - 8);
	}
}

static void unsorted_entries_lead_somewhere(void **state)
{
	struct rig *r = *state;
	uint8_t *first, swap[8];

	build(r, "");
	first = hdr_of(r) + 12;
	memcpy(swap, first, 8);
	memcpy(first, first + 40 * 8, 8);
	assert_true(answers(r) > 0);
	memcpy(first, swap, 8);
	memcpy(swap, first + 5 * 8, 8);
	memcpy(first + 5 * 8, first + 20 * 8, 8);
	memcpy(first + 20 * 8, swap, 8);
	assert_true(answers(r) > 0);
}

/* For any value of a byte, there is an answer or there is none. */
static void any_byte_may_be_wrong(void **state)
{
	struct rig *r = *state;
	const Elf64_Shdr *frames;
	uint8_t *from, *to;

	build(r, "");
	frames = section_headers__find(&r->headers, ".eh_frame");
	from = hdr_of(r);
	to = r->image + frames->sh_offset + frames->sh_size;
	for (uint8_t *at = from; at < to; at += 7) {
		uint8_t old = *at;

		*at = (uint8_t)~old;
		answers(r);
		*at = old;
	}
}

/* After the second block's first entry was read, all entries of the first block become equal. */
static void a_file_may_change(void **state)
{
	struct rig *r = *state;
	struct packed_rule rule;
	struct lazy_table *x;
	struct elf_file *f;
	uint8_t *image, *first;

	build(r, "");
	image = memcpy(malloc(r->sz), r->image, r->sz);
	first = image + (hdr_of(r) - r->image) + 12;
	f = elf_file__from_memory(image, r->sz, "lib.so");
	x = lazy_table__of_file(f, reader);
	assert_int_equal(ask(x, f, r->code + r->code_sz / 3, &rule), 0);
	for (size_t i = 1; i < 65; i++)
		memcpy(first + i * 8, first, 8);
	assert_int_equal(ask(x, f, r->code + r->code_sz / 2, &rule), -EINVAL);
	lazy_table__free(x);
	elf_file__put(f);
}

static void a_file_cut_short_has_no_answer(void **state)
{
	struct rig *r = *state;
	struct packed_rule rule;
	struct lazy_table *x;
	struct elf_file *f;

	build(r, "");
	f = open_file(r->dir);
	x = lazy_table__of_file(f, reader);
	shell__run("truncate -s 64 %s/lib.so", r->dir);
	for (uint64_t off = 0; off < r->code_sz; off++)
		assert_true(ask(x, f, r->code + off, &rule) < 0);
	lazy_table__free(x);
	assert_null(lazy_table__of_file(f, reader));
	elf_file__put(f);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(T(rules_equal_those_of_the_table), T(the_order_makes_no_difference),
	  T(nor_does_what_pages_are_kept), T(marks_may_be_in_an_fde), T(a_file_may_change),
	  T(places_outside_code_have_no_answer), T(larger_files_have_no_lazy_table),
	  T(an_odd_search_table_is_not_believed), T(entries_that_lead_elsewhere_are_not_believed),
	  T(unsorted_entries_lead_somewhere), T(any_byte_may_be_wrong),
	  T(a_file_cut_short_has_no_answer))
