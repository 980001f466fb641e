// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables are described in src/internal/abi/symtab.go and src/runtime/symtab.go of Go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/search.h"
#include "base/strtab.h"
#include "elf/gopclntab.h"
#include "elf/section.h"
#include "symbol/demangle.h"
#include "symbol/golines.h"

#define CODE_MAX   (64u << 20)	/* bytes of all parts */
#define TREES_MAX  (256u << 20) /* bytes of the section with the trees */
#define TEXTS_MAX  (64u << 20)	/* bytes of all strings */
#define PLACES_MAX 32768	/* places of a function: what fits into its part */
#define STEPS_MAX  (1u << 28)	/* of all functions */
#define NO_FILE	   UINT32_MAX

/* An entry of the tree of inlined functions; the older one is of Go 1.18 and 1.19. */
#define INLINED_SZ     16
#define INLINED_OLD_SZ 20

/* Where code begins, and its values; `inlined` is an index in the tree, or -1. */
struct go_row {
	uint32_t start;
	int32_t file, line, inlined;
};

#define FILES_KNOWN 256 /* a power of two: code changes between few files */

struct go_builder {
	struct gopclntab table;
	uint8_t *section; /* with the trees; NULL: none */
	uint64_t section_addr;
	size_t section_sz;
	struct strtab *strings;
	struct {
		uint64_t at; /* in the part `units`, + 1 */
		uint32_t id;
	} files[FILES_KNOWN];
	struct buf ranges, code;
	uint32_t range_cnt;
	uint64_t text;
	uint32_t steps;
	struct go_row *rows; /* of the function at work */
	size_t row_cnt, row_cap;
	uint64_t end; /* bytes of its code that the rows cover */
};

/* ---- a table of values
 * ---------------------------------------------------------------------------
 */

/* Values by code: each is valid up to `end`, counted from the start of the function. */
struct go_values {
	struct cursor c;
	uint64_t end;
	uint32_t step, value;
	bool begun;
};

/* Returns the values of the table at an offset. Without a table, the value is always -1. */
static struct go_values go_values_of(const struct go_builder *b, uint32_t at)
{
	const struct gopclntab *t = &b->table;
	struct go_values v = { .step = t->step, .value = UINT32_MAX, .end = UINT64_MAX };

	if (!at || t->values >= t->sz || at >= t->sz - t->values)
		return v;
	v.c = cursor__on(t->header + t->values + at, t->sz - t->values - at);
	v.end = 0;
	return v;
}

/* Moves to the next value. Returns false at the end. */
static bool go_values_next(struct go_values *v)
{
	uint64_t delta = cursor__uleb(&v->c);

	if (v->c.err || (!delta && v->begun))
		return false;
	v->begun = true;
	v->value += delta & 1 ? ~(uint32_t)(delta >> 1) : (uint32_t)(delta >> 1);
	v->end += (uint32_t)cursor__uleb(&v->c) * (uint64_t)v->step;
	return !v->c.err;
}

/* ---- the rows of a function
 * ------------------------------------------------------------------------
 */

static int go_builder_add_row(struct go_builder *b, const struct go_row *r)
{
	const struct go_row *last = b->row_cnt ? &b->rows[b->row_cnt - 1] : NULL;
	struct go_row *rows;

	if (last && last->file == r->file && last->line == r->line && last->inlined == r->inlined)
		return 0;
	if (b->row_cnt == PLACES_MAX)
		return -E2BIG;
	rows = array__room(b->rows, b->row_cnt, &b->row_cap, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	b->rows = rows;
	b->rows[b->row_cnt++] = *r;
	return 0;
}

/* Merges the three tables of a function. Returns 0, -E2BIG or -ENOMEM. */
static int go_builder_read_rows(struct go_builder *b, const struct go_places *p, uint64_t sz)
{
	struct go_values file = go_values_of(b, p->file), line = go_values_of(b, p->line),
			 inlined = go_values_of(b, p->inlined);
	struct go_values *all[] = { &file, &line, &inlined };
	uint64_t pos = 0;
	int err = 0;

	b->row_cnt = 0;
	b->end = 0;
	while (pos < sz && !err) {
		uint64_t end = sz;

		for (size_t i = 0; i < 3; i++) {
			while (all[i]->end <= pos) {
				if (b->steps++ == STEPS_MAX)
					return -E2BIG;
				if (!go_values_next(all[i]))
					return 0;
			}
			end = all[i]->end < end ? all[i]->end : end;
		}
		err = go_builder_add_row(b, &(struct go_row){ (uint32_t)pos, (int32_t)file.value,
							      (int32_t)line.value,
							      (int32_t)inlined.value });
		b->end = pos = end;
	}
	return err;
}

/* Returns the row at a place of the function, or NULL. */
static const struct go_row *go_builder_row(const struct go_builder *b, uint64_t off)
{
	size_t cnt = SEARCH_COUNT(b->rows, b->row_cnt, r, r->start <= off);

	return cnt && off < b->end ? &b->rows[cnt - 1] : NULL;
}

/* ---- strings
 * --------------------------------------------------------------------------------------
 */

/* Returns the ID of a text that begins at `at` in the part `part` of the table; 0: none. */
static uint32_t go_builder_string(struct go_builder *b, uint64_t part, uint64_t at)
{
	const struct gopclntab *t = &b->table;
	char plain[SYMBOL_NAME_MAX];

	if (part >= t->sz || at >= t->sz - part || strtab__sz(b->strings) > TEXTS_MAX)
		return 0;
	return strtab__id(b->strings, plain,
			  symbol_name_plain((const char *)t->header + part + at, plain));
}

static uint32_t go_builder_read_file(struct go_builder *b, uint64_t at)
{
	const struct gopclntab *t = &b->table;
	struct cursor c;
	uint32_t name;

	if (t->units >= t->sz || at + sizeof(uint32_t) > t->sz - t->units)
		return 0;
	c = cursor__on(t->header + t->units + at, sizeof(uint32_t));
	name = cursor__u32(&c);
	return name == NO_FILE ? 0 : go_builder_string(b, t->files, name);
}

/* Returns the ID of a file by its number in the function's unit; 0: none. */
static uint32_t go_builder_file(struct go_builder *b, uint32_t unit, int32_t number)
{
	uint64_t index = (uint64_t)unit + (uint32_t)number;
	size_t slot = index % FILES_KNOWN;

	if (number < 0)
		return 0;
	if (b->files[slot].at != index + 1) {
		b->files[slot].at = index + 1;
		b->files[slot].id = go_builder_read_file(b, index * sizeof(uint32_t));
	}
	return b->files[slot].id;
}

/* ---- the part of a function
 * --------------------------------------------------------------------------
 */

/* Reads an entry of the tree: the name's offset, and a place of the call. */
static bool go_builder_tree_entry(const struct go_builder *b, uint32_t tree, uint32_t idx,
				  uint32_t *name, uint32_t *place)
{
	uint64_t sz = b->table.has_start_line ? INLINED_SZ : INLINED_OLD_SZ;
	uint64_t at = b->table.trees + tree + idx * sz - b->section_addr;
	struct cursor c;

	if (tree == GO_NO_TREE || at >= b->section_sz || sz > b->section_sz - at)
		return false;
	c = cursor__on(b->section + at + (b->table.has_start_line ? 4 : 12), 8);
	*name = cursor__u32(&c);
	*place = cursor__u32(&c);
	return true;
}

static void go_builder_add_inlined(struct go_builder *b, const struct go_places *p, uint32_t idx)
{
	struct go_inlined call = { 0 };
	uint32_t name, place;
	const struct go_row *row;

	if (go_builder_tree_entry(b, p->tree, idx, &name, &place)) {
		row = go_builder_row(b, place);
		call.function = go_builder_string(b, b->table.names, name);
		if (row && row->line >= 0) {
			call.file = go_builder_file(b, p->unit, row->file);
			call.line = (uint32_t)row->line;
			call.caller = (uint32_t)row->inlined + 1;
		}
	}
	buf__append(&b->code, &call, sizeof(call));
}

static uint32_t go_builder_inlined_cnt(const struct go_builder *b)
{
	int32_t most = -1;

	for (size_t i = 0; i < b->row_cnt; i++)
		if (b->rows[i].inlined > most)
			most = b->rows[i].inlined;
	return (uint32_t)most + 1;
}

static void golines_build_append_sleb(struct buf *out, int64_t v)
{
	bool more = true;

	while (more) {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		more = !((v == 0 && !(byte & 0x40)) || (v == -1 && (byte & 0x40)));
		buf__u8(out, byte | (more ? 0x80 : 0));
	}
}

/* Appends a place. A function that is inlined there without an entry has no line. */
static void go_builder_add_place(struct go_builder *b, const struct go_places *p, size_t i,
				 struct go_row *before)
{
	const struct go_row *r = &b->rows[i];
	uint64_t end = i + 1 < b->row_cnt ? b->rows[i + 1].start : b->end;
	bool differs = !i || r->file != before->file || r->inlined != before->inlined;
	bool known = r->line >= 0 && (r->inlined < 0 || b->section);

	buf__uleb(&b->code, (end - r->start) << 1 | differs);
	if (differs) {
		buf__uleb(&b->code, known ? go_builder_file(b, p->unit, r->file) : 0);
		buf__uleb(&b->code, r->inlined < 0 ? 0 : (uint64_t)r->inlined + 1);
	}
	golines_build_append_sleb(&b->code, (int64_t)r->line - (i ? before->line : 0));
	*before = *r;
}

static void go_builder_add_part(struct go_builder *b, const struct go_places *p)
{
	uint32_t inlined_cnt = go_builder_inlined_cnt(b);
	size_t start = b->code.sz;
	struct go_row before = { 0 };

	if (inlined_cnt > GO_PART_MAX / sizeof(struct go_inlined))
		return;
	buf__u32(&b->code, inlined_cnt);
	for (uint32_t i = 0; i < inlined_cnt; i++)
		go_builder_add_inlined(b, p, i);
	for (size_t i = 0; i < b->row_cnt && !buf__err(&b->code); i++)
		go_builder_add_place(b, p, i, &before);
	if (!buf__err(&b->code) && b->code.sz - start > GO_PART_MAX)
		b->code.sz = start;
}

static void go_builder_add_range(struct go_builder *b, uint64_t start)
{
	buf__u32(&b->ranges, (uint32_t)start);
	buf__u32(&b->ranges, (uint32_t)b->code.sz);
}

/* Adds a function. Returns false if no more can be added. */
static bool go_builder_add(struct go_builder *b, uint64_t idx, uint64_t *covered)
{
	struct go_function f;
	struct go_places p;
	uint64_t start;
	int err;

	if (!gopclntab__at(&b->table, idx, &f) || !gopclntab__places(&b->table, idx, &p))
		return true;
	start = f.addr - b->text;
	if (start < *covered || start + f.sz > UINT32_MAX)
		return true;
	err = go_builder_read_rows(b, &p, f.sz);
	go_builder_add_range(b, start);
	b->range_cnt++;
	*covered = start + f.sz;
	if (!err)
		go_builder_add_part(b, &p);
	return err != -ENOMEM && b->steps < STEPS_MAX && b->code.sz < CODE_MAX &&
	       !buf__err(&b->code);
}

/* ---- the block
 * ----------------------------------------------------------------------------------------
 */

/* Reads the section with the trees. Without it, inlined functions are unknown. */
static void go_builder_read_trees(struct go_builder *b, const struct elf_file *f)
{
	GElf_Shdr shdr;

	for (size_t i = 1; b->table.trees && section__at(f, i, &shdr); i++) {
		if (shdr.sh_type == SHT_NOBITS || shdr.sh_size > TREES_MAX ||
		    b->table.trees - shdr.sh_addr >= shdr.sh_size)
			continue;
		b->section = section__read(f, &shdr, &b->section_sz);
		b->section_addr = shdr.sh_addr;
		return;
	}
}

static void go_builder_write(const struct go_builder *b, struct buf *out)
{
	struct go_lines_head head = { .text = b->text,
				      .range_cnt = b->range_cnt,
				      .string_cnt = (uint32_t)strtab__cnt(b->strings),
				      .code_sz = (uint32_t)b->code.sz };
	uint64_t at = 0;
	size_t sz;

	for (uint32_t i = 0; i < head.string_cnt; i++) {
		strtab__str(b->strings, i, &sz);
		head.strings_sz += (uint32_t)sz + 1;
	}
	buf__append(out, &head, sizeof(head));
	buf__append(out, b->ranges.data, b->ranges.sz);
	for (uint32_t i = 0; i < head.string_cnt; i++) {
		buf__u32(out, (uint32_t)at);
		strtab__str(b->strings, i, &sz);
		at += sz + 1;
	}
	buf__append(out, b->code.data, b->code.sz);
	for (uint32_t i = 0; i < head.string_cnt; i++) {
		const char *text = strtab__str(b->strings, i, &sz);

		buf__append(out, text, sz + 1);
	}
}

static int go_builder_run(struct go_builder *b, struct buf *out)
{
	uint64_t covered = 0;
	struct go_function first;

	b->text = b->table.text;
	if (!b->text && gopclntab__at(&b->table, 0, &first))
		b->text = first.addr;
	for (uint64_t i = 0; i < b->table.cnt; i++)
		if (!go_builder_add(b, i, &covered))
			break;
	go_builder_add_range(b, covered);
	if (buf__err(&b->code) || buf__err(&b->ranges))
		return -ENOMEM;
	go_builder_write(b, out);
	return buf__err(out);
}

int go_lines__build(const struct elf_file *f, struct buf *out)
{
	struct go_builder b = { .strings = strtab__new() };
	int err = b.strings ? gopclntab__read(&b.table, f) : -ENOMEM;

	if (!err) {
		go_builder_read_trees(&b, f);
		err = go_builder_run(&b, out);
		gopclntab__free(&b.table);
	}
	free(b.section);
	free(b.rows);
	buf__free(&b.ranges);
	buf__free(&b.code);
	strtab__free(b.strings);
	return err;
}
