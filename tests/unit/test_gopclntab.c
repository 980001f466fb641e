// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of Go's functions in programs without symbols. */
#include "elf/section.h"
#include "lib/test.h"

#include <errno.h>
#include <glob.h>

#include "lib/goimage.h"
#include "elf/gopclntab.h"
#include "symbol/symbol.h"

/* ---- handmade tables ---- */

/* Two functions, `a.f` at +0x10 and `a.g` at +0x40, up to +0x60, in the format of Go's `magic`. */
struct table {
	uint32_t magic;
	uint8_t zeros[2], step, pointer_sz;
	uint64_t words[8];
	char names[16];
	uint32_t list[32]; /* the list of functions, and their data */
};

static struct table table__half(uint32_t magic, uint64_t text)
{
	struct table t = { magic, { 0 }, 1, 8, .names = "\0a.f\0a.g" };
	const uint32_t list[] = {
		0x10, 40, 0x40, 60, 0x60, 0, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0x40, 5
	};

	t.words[0] = 2;
	t.words[2] = text;
	t.words[3] = offsetof(struct table, names);
	t.words[7] = offsetof(struct table, list);
	memcpy(t.list, list, sizeof(list));
	return t;
}

static struct table table__whole(void)
{
	struct table t = { 0xfffffffa, { 0 }, 1, 8, .names = "\0a.f\0a.g" };
	const uint64_t list[] = {
		GOIMAGE_TEXT + 0x10, 64, GOIMAGE_TEXT + 0x40, 80, GOIMAGE_TEXT + 0x60, 0, 0, 0,
		GOIMAGE_TEXT + 0x10, 1,	 GOIMAGE_TEXT + 0x40, 5
	};

	t.words[0] = 2;
	t.words[2] = offsetof(struct table, names);
	t.words[6] = offsetof(struct table, list);
	memcpy(t.list, list, sizeof(list));
	return t;
}

static struct elf_file *open_image(const char *section, const void *table, size_t sz)
{
	struct goimage *g = goimage__make(section, table, sz);
	struct elf_file *f = elf_file__from_memory(g, sizeof(*g) + sz, "made");

	assert_non_null(f);
	return f;
}

static void assert_named(struct elf_file *f, uint64_t vaddr, const char *name)
{
	struct symbol s;

	if (!elf_file__symbol(f, vaddr, &s))
		assert_null(name);
	else
		assert_string_equal(s.name, name ? name : "nothing");
}

static void assert_both_named(const char *section, const void *table, size_t sz)
{
	struct elf_file *f = open_image(section, table, sz);

	assert_named(f, GOIMAGE_TEXT + 0x0f, NULL);
	assert_named(f, GOIMAGE_TEXT + 0x10, "a.f");
	assert_named(f, GOIMAGE_TEXT + 0x3f, "a.f");
	assert_named(f, GOIMAGE_TEXT + 0x40, "a.g");
	assert_named(f, GOIMAGE_TEXT + 0x5f, "a.g");
	assert_named(f, GOIMAGE_TEXT + 0x60, NULL);
	elf_file__put(f);
}

static void every_layout_names_its_functions(void **state)
{
	struct table t = table__whole();

	(void)state;
	assert_both_named(".gopclntab", &t, sizeof(t));
	t = table__half(0xfffffff0, GOIMAGE_TEXT);
	assert_both_named(".data.rel.ro.gopclntab", &t, sizeof(t));
	t = table__half(0xfffffff1, GOIMAGE_TEXT);
	assert_both_named(".gopclntab", &t, sizeof(t));
	t = table__half(0xfffffff1, 0); /* Go 1.26 */
	assert_both_named(".gopclntab", &t, sizeof(t));
}

static void a_table_among_other_data_is_found(void **state)
{
	struct {
		uint64_t other[5];
		struct table table;
	} data = { { 1, 0xfffffff1, 3, 4, 5 }, table__half(0xfffffff1, GOIMAGE_TEXT) };

	(void)state;
	assert_both_named(".data.rel.ro", &data, sizeof(data));
}

static int read_table(const struct table *t)
{
	struct elf_file *f = open_image(".gopclntab", t, sizeof(*t));
	struct gopclntab found;
	int err = gopclntab__read(&found, f);

	if (!err)
		gopclntab__free(&found);
	elf_file__put(f);
	return err;
}

static void rejects_wrong_headers(void **state)
{
	struct table good = table__half(0xfffffff1, GOIMAGE_TEXT), t = good;

	(void)state;
	assert_int_equal(read_table(&t), 0);
	t.magic = 0xfffffffb; /* Go 1.2 to 1.15 */
	assert_int_equal(read_table(&t), -ENOENT);
	t = good;
	t.pointer_sz = 4;
	assert_int_equal(read_table(&t), -ENOENT);
	t = good;
	t.words[0] = 1ull << 60; /* functions */
	assert_int_equal(read_table(&t), -ENOENT);
	t = good;
	t.words[3] = sizeof(t); /* names */
	assert_int_equal(read_table(&t), -ENOENT);
	t = good;
	t.words[7] = UINT64_MAX; /* the list */
	assert_int_equal(read_table(&t), -ENOENT);
	t = good;
	t.words[2] = GOIMAGE_TABLE; /* no code */
	assert_int_equal(read_table(&t), -ENOENT);
}

/* A broken entry does not affect others. */
static void leaves_broken_entries_out(void **state)
{
	const uint32_t broken[] = { 4, sizeof(struct table), UINT32_MAX };
	struct elf_file *f;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		struct table t = table__half(0xfffffff0, GOIMAGE_TEXT);

		t.list[i ? 1 : 0] = i ? broken[i] : 0x50; /* it ends where it begins */
		f = open_image(".gopclntab", &t, sizeof(t));
		assert_named(f, GOIMAGE_TEXT + 0x10, NULL);
		assert_named(f, GOIMAGE_TEXT + 0x40, "a.g");
		elf_file__put(f);
	}
}

/* Debian's go has no symbol table. */
static void debians_go_has_names(void **state)
{
	size_t named = 0, all = 0;
	struct elf_file *f;
	GElf_Shdr text;
	struct symbol s;
	glob_t g;

	(void)state;
	if (glob("/usr/lib/go-*/bin/go", 0, NULL, &g) != 0)
		skip_because("no go of Debian's");
	f = elf_file__open(g.gl_pathv[0]);
	globfree(&g);
	assert_non_null(f);
	assert_true(section__named(f, ".text", &text));
	for (uint64_t off = 0; off < text.sh_size; off += 1000, all++)
		named += elf_file__symbol(f, text.sh_addr + off, &s);
	print_message("%zu of %zu places\n", named, all);
	assert_true(named * 100 >= all * 99);
	elf_file__put(f);
}

RUN_TESTS(cmocka_unit_test(every_layout_names_its_functions),
	  cmocka_unit_test(a_table_among_other_data_is_found),
	  cmocka_unit_test(rejects_wrong_headers), cmocka_unit_test(leaves_broken_entries_out),
	  cmocka_unit_test(debians_go_has_names))
