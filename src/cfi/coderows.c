// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/coderows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "elf/section.h"
#include "elf/symlist.h"
#include "cfi/codescan.h"
#include "elf/insn.h"
#include "cfi/tablebuild.h"
#include "elf/code.h"

/* Bytes of code; larger files are not scanned. A scan takes up to 100 ms, up to a second for forged
 * code. */
#define CODE_MAX	   (8u << 20)
#define CODE_UNTRUSTED_MAX (4u << 20)
#define STARTS_MAX	   (1u << 18) /* 4 MB */
#define SYMBOLS_MAX	   (4u << 20) /* bytes of a symbol table; larger ones are not read */
#define DYNAMIC_MAX	   128	      /* entries of a dynamic section: real ones have 40 */

struct row_maker {
	struct code_rows *out;
	const struct elf_file *file;
	const struct elf_segment *segment; /* the current one */
	uint8_t *bytes;			   /* bytes of the segment */
	struct code_start *starts;	   /* ascending */
	size_t start_cnt, start_cap;
	uint64_t entry;
	uint64_t gap_off, gap_end; /* the current gap as far as it is known: file offsets */
	bool full;		   /* no room for more rows */
};

/* ---- functions ---- */

static int coderows_by_address(const void *a, const void *b)
{
	const struct code_start *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* GCC and clang name the parts that they move away `name.cold`. */
static bool coderows_is_part(const struct raw_symbol *s)
{
	return memmem(s->name, s->name_sz, ".cold", 5);
}

static void coderows_add_start(struct row_maker *m, uint64_t vaddr, bool part)
{
	struct code_start *starts =
		m->start_cnt < STARTS_MAX
			? array__room(m->starts, m->start_cnt, &m->start_cap, sizeof(*starts))
			: NULL;

	if (!starts)
		return;
	m->starts = starts;
	starts[m->start_cnt++] = (struct code_start){ vaddr, part };
}

/* Skips labels, which can be in the middle of a function. */
static void coderows_add_listed(struct row_maker *m, const struct symlist *l)
{
	for (size_t i = 0; i < l->cnt; i++)
		if (!l->syms[i].label)
			coderows_add_start(m, l->syms[i].addr, coderows_is_part(&l->syms[i]));
}

static void coderows_add_symbols(struct row_maker *m)
{
	uint32_t type = SHT_SYMTAB;
	struct symlist l;
	GElf_Shdr shdr = { 0 };

	if (!section__typed(m->file, SHT_SYMTAB, &shdr))
		section__typed(m->file, type = SHT_DYNSYM, &shdr);
	if (shdr.sh_size > SYMBOLS_MAX || symlist__init(&l, m->file) != 0)
		return;
	symlist__add_table(&l, m->file, type);
	if (type != SHT_SYMTAB)
		symlist__add_go(&l, m->file);
	coderows_add_listed(m, &l);
	symlist__free(&l);
}

/* Returns whether the dynamic section has an entry with the tag. */
static bool coderows_has_dynamic(const struct row_maker *m, const GElf_Phdr *dynamic, int64_t tag)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	size_t sz = dynamic->p_filesz < sizeof(entries) ? dynamic->p_filesz : sizeof(entries);

	if (elf_file__read(m->file, dynamic->p_offset, entries, sz))
		return false;
	for (size_t i = 0; i < sz / sizeof(*entries); i++)
		if (entries[i].d_tag == tag)
			return true;
	return false;
}

/*
 * Returns whether the kernel starts the file: a program, or the dynamic linker, which is a library
 * that needs no other. Other libraries may have any entry address.
 */
static bool coderows_is_started(const struct row_maker *m)
{
	GElf_Phdr p, dynamic = { 0 };

	for (size_t i = 0; segment__at(m->file, i, &p); i++) {
		if (p.p_type == PT_INTERP)
			return true;
		if (p.p_type == PT_DYNAMIC)
			dynamic = p;
	}
	return m->file->program_table.type == ET_EXEC ||
	       !coderows_has_dynamic(m, &dynamic, DT_NEEDED);
}

static uint64_t coderows_find_entry(const struct row_maker *m)
{
	uint64_t entry = m->file->program_table.entry;

	return entry && coderows_is_started(m) ? entry : UINT64_MAX;
}

#define ENTRY_JUMPS 4 /* Go has two */
#define ENTRY_INSNS 8

/* Returns the target if the code at `vaddr` soon jumps, else `vaddr`. */
static uint64_t coderows_follow_jump(const struct row_maker *m, uint64_t vaddr)
{
	const struct elf_code text = elf_code__at(m->file, vaddr);
	uint8_t bytes[ENTRY_INSNS * INSN_SZ_MAX];
	size_t sz, at = 0;
	struct insn insn;

	if (text.at_off == UINT64_MAX || elf_file__read(m->file, text.at_off, bytes, sizeof(bytes)))
		return vaddr;
	for (size_t i = 0; i < ENTRY_INSNS; i++, at += sz) {
		sz = insn__decode(&insn, bytes + at, sizeof(bytes) - at);
		if (sz && insn.kind == INSN_JUMP)
			return vaddr + at + sz + (uint64_t)insn.imm;
		if (!sz || insn.kind == INSN_CALL || insn__ends(&insn))
			break;
	}
	return vaddr;
}

/* Adds the function that the kernel starts, after following its jumps. */
static void coderows_add_entry(struct row_maker *m)
{
	m->entry = coderows_find_entry(m);
	for (size_t i = 0; i < ENTRY_JUMPS; i++)
		m->entry = coderows_follow_jump(m, m->entry);
	coderows_add_start(m, m->entry, false);
}

/* Adds the targets of calls as functions, except `call 1f; 1: pop`, which reads the address. */
static void coderows_add_called(struct row_maker *m)
{
	struct insn insn = { .kind = INSN_OTHER };
	bool ended = false;
	size_t sz;

	for (size_t at = 0; at < m->segment->sz; at += sz ? sz : 1) {
		sz = (ended ? insn__decode_after_end : insn__decode)(&insn, m->bytes + at,
								     m->segment->sz - at);
		ended = insn__ends(&insn) || (ended && insn.kind == INSN_NOP);
		if (sz && insn.kind == INSN_CALL && insn.imm &&
		    at + sz + (uint64_t)insn.imm < m->segment->sz)
			coderows_add_start(m, m->segment->vaddr + at + sz + (uint64_t)insn.imm,
					   false);
	}
}

static void coderows_sort_starts(struct row_maker *m)
{
	if (m->start_cnt)
		qsort(m->starts, m->start_cnt, sizeof(*m->starts), coderows_by_address);
}

/* ---- gaps ---- */

/* Called when no more rows can be added: marks the rest as without a rule. */
static void coderows_add_last_row(struct row_maker *m, uint64_t at)
{
	struct code_rows *out = m->out;

	if (out->cnt == out->cap && out->cnt)
		at = out->rows[--out->cnt].at;
	if (out->cnt < out->cap)
		out->rows[out->cnt++] = (struct cfi_row){ at, { .how = PACKED_NONE } };
	m->full = true;
}

static void coderows_add_row(const struct cfi_row *row, void *arg)
{
	struct row_maker *m = arg;
	struct code_rows *out = m->out;
	struct cfi_row *rows;

	if (m->full)
		return;
	rows = out->cnt + 1 < CODE_ROWS_MAX
		       ? array__room(out->rows, out->cnt, &out->cap, sizeof(*rows))
		       : NULL;
	if (!rows) {
		coderows_add_last_row(m, row->at);
		return;
	}
	out->rows = rows;
	rows[out->cnt++] = *row;
}

static size_t coderows_count_starts_before(const struct row_maker *m, uint64_t vaddr)
{
	return SEARCH_COUNT(m->starts, m->start_cnt, c, c->vaddr < vaddr);
}

/* Scans the current gap, after its end is known. */
static void coderows_scan_gap(struct row_maker *m)
{
	uint64_t at = m->gap_off - m->segment->off, sz = m->gap_end - m->gap_off;
	uint64_t vaddr = m->segment->vaddr + at;
	size_t first = coderows_count_starts_before(m, vaddr);
	const struct code_gap gap = { .bytes = m->bytes + at,
				      .sz = sz,
				      .vaddr = vaddr,
				      .starts = m->starts + first,
				      .start_cnt = m->start_cnt - first,
				      .entry = m->entry };
	const struct cfi_row past = { vaddr + sz, { .how = PACKED_NONE } };

	if (!sz)
		return;
	code_scan(&gap, coderows_add_row, m);
	coderows_add_row(&past, m);
}

/* A cfi_table_gap_fn. Takes the part in the current segment, and joins adjacent ranges. */
static void coderows_take_gap(uint64_t off, uint64_t end, void *arg)
{
	struct row_maker *m = arg;
	uint64_t segment_end = m->segment->off + m->segment->sz;

	off = off > m->segment->off ? off : m->segment->off;
	end = end < segment_end ? end : segment_end;
	if (off >= end)
		return;
	if (off != m->gap_end) {
		coderows_scan_gap(m);
		m->gap_off = off;
	}
	m->gap_end = end;
}

/* Scans all gaps of the current segment, including the parts before the first and after the last
 * page of the table. */
static void coderows_scan_gaps(struct row_maker *m, const struct cfi_table *t)
{
	uint64_t first = t ? t->first_page << TABLE_PAGE_BITS : UINT64_MAX;
	uint64_t past = t ? (t->first_page + t->page_cnt) << TABLE_PAGE_BITS : UINT64_MAX;

	m->gap_off = m->gap_end = m->segment->off;
	coderows_take_gap(0, first, m);
	if (t)
		cfi_table__gaps(t, coderows_take_gap, m);
	coderows_take_gap(past, UINT64_MAX, m);
	coderows_scan_gap(m);
}

static void coderows_scan_segment(struct row_maker *m, const struct cfi_table *t)
{
	m->bytes = malloc(m->segment->sz);
	if (m->bytes && elf_file__read(m->file, m->segment->off, m->bytes, m->segment->sz) == 0) {
		coderows_add_called(m);
		coderows_sort_starts(m);
		coderows_scan_gaps(m, t);
	}
	free(m->bytes);
}

static void coderows_scan_file(struct row_maker *m, struct elf_file *f)
{
	struct cfi_table *t = cfi_table__of_file(f);
	uint64_t end = 0; /* of the previous segment: a forged file may have them in any order */

	coderows_add_symbols(m);
	coderows_add_entry(m);
	for (size_t i = 0; i < f->segment_cnt; i++) {
		m->segment = &f->segments[i];
		if (!(m->segment->flags & PF_X) || m->segment->vaddr < end ||
		    m->segment->vaddr > UINT64_MAX - m->segment->sz)
			continue;
		end = m->segment->vaddr + m->segment->sz;
		coderows_scan_segment(m, t);
	}
	free(m->starts);
	free(t);
}

static uint64_t code_sz(const struct elf_file *f)
{
	uint64_t sz = 0;

	for (size_t i = 0; i < f->segment_cnt; i++)
		if (f->segments[i].flags & PF_X)
			sz += f->segments[i].sz < CODE_MAX ? f->segments[i].sz : CODE_MAX + 1;
	return sz;
}

bool code_rows__may_be(const struct elf_file *f)
{
	return code_sz(f) <= (f->trusted ? CODE_MAX : CODE_UNTRUSTED_MAX);
}

#define ENTRY_SZ 96 /* bytes: _start of AArch64's ld.so */

/* Adds the rule of the entry point only: the function that the kernel starts has no caller. */
static void coderows_add_entry_alone(struct row_maker *m)
{
	uint64_t entry = coderows_find_entry(m);

	if (entry > UINT64_MAX - ENTRY_SZ)
		return;
	coderows_add_row(&(struct cfi_row){ entry, { .how = PACKED_ROOT } }, m);
	coderows_add_row(&(struct cfi_row){ entry + ENTRY_SZ, { .how = PACKED_NONE } }, m);
}

/* Frees the unused end of the array. */
static void coderows_give_back(struct code_rows *out)
{
	struct cfi_row *rows = realloc(out->rows, (out->cnt + 1) * sizeof(*rows));

	if (!rows)
		return;
	out->rows = rows;
	out->cap = out->cnt + 1;
}

void code_rows__make(struct code_rows *out, struct elf_file *f)
{
	struct row_maker m = { .out = out, .file = f };

	*out = (struct code_rows){ 0 };
	if (f->machine == &machine_x86_64)
		coderows_scan_file(&m, f);
	else
		coderows_add_entry_alone(&m);
	coderows_give_back(out);
}

void code_rows__free(struct code_rows *c)
{
	free(c->rows);
	*c = (struct code_rows){ 0 };
}

const struct packed_rule *code_rows__at(const struct code_rows *c, uint64_t vaddr)
{
	size_t lo = SEARCH_COUNT(c->rows, c->cnt, r, r->at <= vaddr);

	return lo && c->rows[lo - 1].rule.how != PACKED_NONE ? &c->rows[lo - 1].rule : NULL;
}
