// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/coderows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/symlist.h"
#include "unwind/codescan.h"
#include "unwind/tablefile.h"
#include "unwind/text.h"

#define CODE_MAX (8u << 20) /* bytes that are scanned of one file: some 40 ms */
#define ROWS_MAX (1u << 18) /* 4 MB */

struct row_maker {
	struct code_rows *out;
	const struct elf_file *file;
	const struct elf_segment *segment; /* the one in hand */
	struct code_start *starts;	   /* ascending */
	size_t start_cnt;
	uint64_t entry;
	uint64_t gap_off, gap_end; /* what is known of the gap in hand: file offsets */
	size_t left;		   /* bytes that may be scanned yet */
};

/* ---- functions ---- */

static int by_address(const void *a, const void *b)
{
	const struct code_start *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* GCC and clang call what they move away `name.cold`. */
static bool is_part(const struct raw_symbol *s)
{
	return memmem(s->name, s->name_sz, ".cold", 5);
}

/* Labels may be in the middle of a function. */
static void copy_starts(struct row_maker *m, const struct symlist *l)
{
	m->starts = malloc((l->cnt + 1) * sizeof(*m->starts));
	if (!m->starts)
		return;
	for (size_t i = 0; i < l->cnt; i++)
		if (!l->syms[i].label)
			m->starts[m->start_cnt++] =
				(struct code_start){ l->syms[i].addr, is_part(&l->syms[i]) };
	m->starts[m->start_cnt++] = (struct code_start){ m->entry, false };
	qsort(m->starts, m->start_cnt, sizeof(*m->starts), by_address);
}

static void find_starts(struct row_maker *m)
{
	struct symlist l;
	GElf_Ehdr ehdr;

	m->entry = gelf_getehdr(elf_file__elf(m->file), &ehdr) ? ehdr.e_entry : UINT64_MAX;
	if (symlist__init(&l, m->file) == 0) {
		if (symlist__add_table(&l, m->file, SHT_SYMTAB) != 0)
			symlist__add_table(&l, m->file, SHT_DYNSYM);
		copy_starts(m, &l);
	}
	symlist__free(&l);
}

/* ---- gaps ---- */

static void add_row(const struct callframe_row *row, void *arg)
{
	struct code_rows *out = ((struct row_maker *)arg)->out;
	struct callframe_row *rows =
		out->cnt < ROWS_MAX ? array__room(out->rows, out->cnt, &out->cap, sizeof(*rows))
				    : NULL;

	if (!rows)
		return;
	out->rows = rows;
	rows[out->cnt++] = *row;
}

static size_t count_starts_before(const struct row_maker *m, uint64_t vaddr)
{
	size_t lo = 0, hi = m->start_cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->starts[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void scan_bytes(struct row_maker *m, const uint8_t *bytes, size_t sz)
{
	uint64_t vaddr = m->gap_off - m->segment->off + m->segment->vaddr;
	size_t first = count_starts_before(m, vaddr);
	const struct code_gap gap = { .bytes = bytes,
				      .sz = sz,
				      .vaddr = vaddr,
				      .starts = m->starts + first,
				      .start_cnt = m->start_cnt - first,
				      .entry = m->entry };
	const struct callframe_row past = { vaddr + sz, { .how = FLAT_NONE } };

	code_scan(&gap, add_row, m);
	add_row(&past, m);
}

/* The gap in hand is whole. */
static void scan_gap(struct row_maker *m)
{
	uint64_t sz = m->gap_end - m->gap_off;
	uint8_t *bytes;

	if (!sz || sz > m->left)
		return;
	m->left -= sz;
	bytes = malloc(sz);
	if (bytes && elf_file__read(m->file, m->gap_off, bytes, sz) == 0)
		scan_bytes(m, bytes, sz);
	free(bytes);
}

/* A frame_table_gap_fn: what is in the segment in hand. Ranges that touch are one gap. */
static void take_gap(uint64_t off, uint64_t end, void *arg)
{
	struct row_maker *m = arg;
	uint64_t segment_end = m->segment->off + m->segment->sz;

	off = off > m->segment->off ? off : m->segment->off;
	end = end < segment_end ? end : segment_end;
	if (off >= end)
		return;
	if (off != m->gap_end) {
		scan_gap(m);
		m->gap_off = off;
	}
	m->gap_end = end;
}

/* What is before the table's first page and behind its last one is in gaps, too. */
static void scan_segment(struct row_maker *m, const struct frame_table *t)
{
	uint64_t first = t ? t->first_page << TABLE_PAGE_BITS : UINT64_MAX;
	uint64_t past = t ? (t->first_page + t->page_cnt) << TABLE_PAGE_BITS : UINT64_MAX;

	m->gap_off = m->gap_end = m->segment->off;
	take_gap(0, first, m);
	if (t)
		frame_table__gaps(t, take_gap, m);
	take_gap(past, UINT64_MAX, m);
	scan_gap(m);
}

void code_rows__make(struct code_rows *out, struct elf_file *f)
{
	struct row_maker m = { .out = out, .file = f, .left = CODE_MAX };
	struct frame_table *t;

	*out = (struct code_rows){ 0 };
	if (f->machine != &machine_x86_64)
		return;
	t = frame_table__of_file(f);
	find_starts(&m);
	for (size_t i = 0; i < f->segment_cnt; i++) {
		m.segment = &f->segments[i];
		if (m.segment->flags & PF_X)
			scan_segment(&m, t);
	}
	free(m.starts);
	free(t);
}

void code_rows__free(struct code_rows *c)
{
	free(c->rows);
	*c = (struct code_rows){ 0 };
}

const struct flat_rule *code_rows__at(const struct code_rows *c, uint64_t vaddr)
{
	size_t lo = 0, hi = c->cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->rows[mid].at <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && c->rows[lo - 1].rule.how != FLAT_NONE ? &c->rows[lo - 1].rule : NULL;
}
