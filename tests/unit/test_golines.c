// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of Go programs, and the functions that are inlined in them. */
#include "lib/test.h"

#include "lib/goimage.h"
#include "symbol/golines.h"

/* ---- a handmade table ---- */

/* `a.f` at +0x10, up to +0x40, in a.go. `b.g` of b.go is inlined into it from +0x20 on, and `b.h`
 * into that from +0x30 on. Go 1.20 to the newest. */
struct table {
	uint32_t magic;
	uint8_t zeros[2], step, pointer_sz;
	uint64_t words[8];
	char names[16];
	uint32_t units[2];
	char files[16];
	uint8_t values[32];
	uint32_t list[4]; /* one function, and the end */
	uint32_t function[18];
	uint32_t inlined[2][4];
};

#define AT(member) offsetof(struct table, member)

static struct table table__new(void)
{
	struct table t = {
		.magic = 0xfffffff1,
		.step = 1,
		.pointer_sz = 8,
		.words = { 1, 2, GOIMAGE_TEXT, AT(names), AT(units), AT(files), AT(values),
			   AT(list) },
		.names = "\0a.f\0b.g\0b.h",
		.units = { 0, 5 },
		.files = "a.go\0b.go",
		/* Pairs of a change of the value, which begins at -1, and bytes of code. The
		 * changes are doubled, or doubled and negated with the lowest bit. */
		.values = { 0,	2,    0x10, 2,	  0x20, 0,    0,    /* at 1: file 0, 1 */
			    22, 0x10, 20,   0x10, 1,	0x10, 0, 0, /* at 7: lines 10, 20, 19 */
			    0,	0x10, 2,    0x10, 2,	0x10, 0 },  /* at 15: none, 0, 1 */
		.list = { 0x10, AT(function) - AT(list), 0x40, 0 },
		/* entry, name, args, deferreturn, pcsp, file, line, values, unit, first line, IDs
		 * and trees, values, trees */
		.function = { 0x10, 1, 0, 0, 0, 1, 7, 3, 0, 9, 4u << 24, 0, 0, 15, 0, 0, 0, 0 },
		.inlined = { { 0, 5, 0x08, 0 }, { 0, 9, 0x18, 0 } },
	};

	return t;
}

static struct elf_file *open_table(const struct table *t)
{
	struct goimage *g = goimage__make(".gopclntab", t, sizeof(*t));
	struct elf_file *f;

	g->module[40] = GOIMAGE_TABLE + AT(inlined);
	f = elf_file__from_memory(g, sizeof(*g) + sizeof(*t), "made");
	assert_non_null(f);
	return f;
}

static void assert_line(const struct code_line *l, const char *function, const char *file,
			uint32_t line)
{
	if (function)
		assert_string_equal(l->function, function);
	else
		assert_null(l->function);
	assert_string_equal(l->file, file);
	assert_int_equal(l->line, line);
}

static void names_inlined_functions_and_their_calls(void **state)
{
	struct table t = table__new();
	struct elf_file *f = open_table(&t);
	struct code_lines l;
	struct symbol s;

	(void)state;
	assert_false(elf_file__code_lines(f, GOIMAGE_TEXT + 0x10, &l)); /* not read yet */
	assert_true(elf_file__symbol(f, GOIMAGE_TEXT + 0x10, &s));
	assert_false(elf_file__code_lines(f, GOIMAGE_TEXT + 0x0f, &l));
	assert_true(elf_file__code_lines(f, GOIMAGE_TEXT + 0x1f, &l));
	assert_int_equal(l.cnt, 1);
	assert_line(&l.v[0], NULL, "a.go", 10);
	assert_true(elf_file__code_lines(f, GOIMAGE_TEXT + 0x20, &l));
	assert_int_equal(l.cnt, 2);
	assert_line(&l.v[0], "b.g", "b.go", 20);
	assert_line(&l.v[1], NULL, "a.go", 10);
	assert_true(elf_file__code_lines(f, GOIMAGE_TEXT + 0x3f, &l));
	assert_int_equal(l.cnt, 3);
	assert_line(&l.v[0], "b.h", "b.go", 19);
	assert_line(&l.v[1], "b.g", "b.go", 20);
	assert_line(&l.v[2], NULL, "a.go", 10);
	assert_false(elf_file__code_lines(f, GOIMAGE_TEXT + 0x40, &l));
	elf_file__put(f);
}

/* A function that is inlined into itself ends at a limit. */
static void ends_at_a_limit(void **state)
{
	struct table t = table__new();
	struct elf_file *f;
	struct code_lines l;
	struct symbol s;

	(void)state;
	t.inlined[0][2] = 0x18;
	f = open_table(&t);
	assert_true(elf_file__symbol(f, GOIMAGE_TEXT + 0x10, &s));
	assert_true(elf_file__code_lines(f, GOIMAGE_TEXT + 0x20, &l));
	assert_int_equal(l.cnt, CODE_LINES_MAX);
	elf_file__put(f);
}

static void rejects_blocks_that_are_not_sound(void **state)
{
	struct table t = table__new();
	struct elf_file *f = open_table(&t);
	struct buf block = { 0 };
	struct go_lines_head *head;
	struct go_lines_range *ranges;
	struct go_lines l;

	(void)state;
	assert_int_equal(go_lines__build(f, &block), 0);
	assert_true(go_lines__open(&l, block.data, block.sz));
	assert_false(go_lines__open(&l, block.data, block.sz - 1));
	assert_false(go_lines__open(&l, block.data, sizeof(*head) - 1));
	head = (struct go_lines_head *)(void *)block.data;
	ranges = (struct go_lines_range *)(head + 1);
	ranges[1].at++;
	assert_false(go_lines__open(&l, block.data, block.sz));
	ranges[1].at--;
	ranges[0].start = ranges[1].start + 1;
	assert_false(go_lines__open(&l, block.data, block.sz));
	ranges[0].start = 0;
	block.data[block.sz - 1] = 'x';
	assert_false(go_lines__open(&l, block.data, block.sz));
	block.data[block.sz - 1] = '\0';
	block.data[block.sz - 2] = '\1';
	assert_false(go_lines__open(&l, block.data, block.sz));
	buf__free(&block);
	elf_file__put(f);
}

RUN_TESTS(cmocka_unit_test(names_inlined_functions_and_their_calls),
	  cmocka_unit_test(ends_at_a_limit), cmocka_unit_test(rejects_blocks_that_are_not_sound))
