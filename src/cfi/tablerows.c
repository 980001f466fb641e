// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/tablerows.h"

#include <dwarf.h>

#include "cfi/interp.h"
#include "elf/code.h"

/* Bytes of padding before an aligned function, which are never executed. */
#define ALIGNMENT_GAP	 16
#define INSTRUCTIONS_MAX (256u << 10) /* bytes of one FDE */

__attribute__((noinline)) static const struct table_override *tablerows_find_mark(
	struct table_rows *r, uint64_t from, uint64_t to)
{
	const struct table_source *s = r->source;

	while (r->mark < s->mark_cnt && s->marks[r->mark].off + s->marks[r->mark].sz <= from)
		r->mark++;
	r->mark_off = r->mark < s->mark_cnt ? s->marks[r->mark].off : UINT64_MAX;
	return r->mark_off < to ? &s->marks[r->mark] : NULL;
}

/* Returns the first override that ends after `from`, if it begins before `to`. Calls must have
 * ascending places. Nearly all places are far from any override. */
static inline const struct table_override *tablerows_next_mark(struct table_rows *r, uint64_t from,
							       uint64_t to)
{
	return r->mark_off < to ? tablerows_find_mark(r, from, to) : NULL;
}

static void tablerows_set_rule(struct table_rows *r, uint64_t from, struct packed_rule rule)
{
	r->set(&(struct cfi_row){ from, rule }, 1, r->arg);
}

/* Sets the rule in [from, to), with the overrides on top. */
static void tablerows_set_rules(struct table_rows *r, uint64_t from, uint64_t to,
				struct packed_rule rule)
{
	const struct table_override *mark;

	while (from < to && (mark = tablerows_next_mark(r, from, to))) {
		if (mark->off > from)
			tablerows_set_rule(r, from, rule);
		from = mark->off > from ? mark->off : from;
		tablerows_set_rule(r, from, mark->rule);
		from = mark->off + mark->sz;
	}
	if (from < to)
		tablerows_set_rule(r, from, rule);
}

/* Drops the part of an FDE's rows before r->end, which belongs to another FDE. Returns the number
 * of remaining rows, at least one. */
static size_t tablerows_trim(const struct table_rows *r, struct cfi_row **rows, size_t cnt)
{
	for (; cnt > 1 && (*rows)[1].at <= r->end; cnt--)
		++*rows;
	if ((*rows)->at < r->end)
		(*rows)->at = r->end;
	return cnt;
}

static void tablerows_take_rows(struct cfi_row *rows, size_t cnt, uint64_t end, void *arg)
{
	struct table_rows *r = arg;

	if (end <= r->end)
		return;
	if (rows->at < r->end)
		cnt = tablerows_trim(r, &rows, cnt);
	if (!tablerows_next_mark(r, rows->at, end))
		r->set(rows, cnt, r->arg);
	else
		for (size_t i = 0; i < cnt; i++)
			tablerows_set_rules(r, rows[i].at, i + 1 < cnt ? rows[i + 1].at : end,
					    rows[i].rule);
	r->end = end;
}

bool table_source__may_read_code(const struct table_segment *segments, size_t cnt)
{
	uint64_t left = TABLE_CODE_MAX;

	for (size_t i = 0; i < cnt; i++) {
		if (segments[i].sz > left)
			return false;
		left -= segments[i].sz;
	}
	return true;
}

/* A gap of at most ALIGNMENT_GAP bytes, and what follows it. */
struct gap_code {
	uint8_t bytes[ALIGNMENT_GAP + CODE_START_CONTEXT_SZ];
	size_t sz;
};

/* Returns false if the code cannot be read, or if the gap is larger. If the file ends there, the
 * bytes after the gap are zeros. */
static bool tablerows_read_gap(const struct table_rows *r, uint64_t to, struct gap_code *code)
{
	const struct table_source *s = r->source;

	*code = (struct gap_code){ .sz = to - r->end };
	if (!s->read_code || code->sz > ALIGNMENT_GAP)
		return false;
	return s->read_code(s->code_arg, r->end, code->bytes, code->sz + CODE_START_CONTEXT_SZ) ||
	       s->read_code(s->code_arg, r->end, code->bytes, code->sz);
}

/*
 * Returns whether the gap up to `to` is padding before an aligned function. It may be a small
 * function without CFI instead, which its bytes show. Larger gaps are code without CFI, such as the
 * child's part of the C library's clone() after its system call.
 */
static bool tablerows_is_padding(const struct table_rows *r, uint64_t to,
				 const struct gap_code *code)
{
	return to - r->end <= ALIGNMENT_GAP && to % ALIGNMENT_GAP == 0 &&
	       (!code || elf_code__is_padding(r->source->machine, code->bytes, code->sz));
}

/* Searches a trampoline. Trampolines of x86-64 in gaps of at most ALIGNMENT_GAP bytes have
 * call-frame information. */
static bool tablerows_find_trampoline(const struct table_rows *r, uint64_t from, uint64_t to,
				      struct table_override *found)
{
	const struct table_source *s = r->source;

	return s->find_trampoline && (machine__links(s->machine) || to - from > ALIGNMENT_GAP) &&
	       s->find_trampoline(s->find_arg, from, to, found);
}

/* The return address of a signal handler is the start of the trampoline. The walk looks up the byte
 * before it, even if that is in an FDE. */
__attribute__((noinline)) static void tablerows_fill_gap(struct table_rows *r, uint64_t to,
							 bool padding)
{
	const struct packed_rule none = { .how = PACKED_NONE };
	uint64_t from = r->end;
	struct table_override found;

	while (from < to && tablerows_find_trampoline(r, from, to, &found)) {
		struct packed_rule before = found.rule;

		tablerows_set_rules(r, from, found.off - 1, none);
		before.flags = PACKED_CALLERS_ONLY;
		tablerows_set_rule(r, found.off - 1, before);
		tablerows_set_rule(r, found.off, found.rule);
		from = found.off + found.sz;
		padding = false;
	}
	if (!padding)
		tablerows_set_rules(r, from, to, none);
}

/* A planted return address points to the start of __start_context, and the walk looks up the byte
 * before it. */
static void tablerows_set_planted(struct table_rows *r, uint64_t start)
{
	const struct packed_rule root = { .how = PACKED_ROOT, .flags = PACKED_CALLERS_ONLY };

	tablerows_set_rule(r, start - 1, root);
}

/* Nearly all gaps are padding, which needs no row. */
void table_rows__gap(struct table_rows *r, uint64_t to)
{
	struct gap_code code;
	bool has_code = tablerows_read_gap(r, to, &code);
	bool padding = tablerows_is_padding(r, to, has_code ? &code : NULL) &&
		       !tablerows_next_mark(r, r->end, to);

	if (!padding || machine__links(r->source->machine))
		tablerows_fill_gap(r, to, padding);
	else if (has_code && elf_code__is_start_context(r->source->machine, code.bytes + code.sz))
		tablerows_set_planted(r, to);
}

static const struct table_segment *tablerows_find_segment(const struct table_source *s,
							  uint64_t vaddr)
{
	for (size_t i = 0; i < s->segment_cnt; i++)
		if (vaddr - s->segments[i].vaddr < s->segments[i].sz)
			return &s->segments[i];
	return NULL;
}

bool table_rows__off(const struct table_source *source, uint64_t vaddr, uint64_t *off)
{
	const struct table_segment *s = tablerows_find_segment(source, vaddr);

	if (s)
		*off = s->off + (vaddr - s->vaddr);
	return s;
}

/* Converts the part of an address range that is in its first segment. Returns false if there is
 * none. */
static bool tablerows_place(const struct table_source *source, uint64_t *start, uint64_t *sz)
{
	const struct table_segment *s = tablerows_find_segment(source, *start);
	uint64_t in;

	if (!s)
		return false;
	in = *start - s->vaddr;
	*start = s->off + in;
	*sz = *sz < s->sz - in ? *sz : s->sz - in;
	return true;
}

size_t table_rows__marks(const struct table_source *source, const struct overrides *m,
			 struct table_override *marks)
{
	uint64_t end = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < m->cnt; i++) {
		struct table_override mark = { m->marks[i].vaddr, m->marks[i].sz,
					       wide_rule__packed(&m->marks[i].rule) };

		if (!tablerows_place(source, &mark.off, &mark.sz) || mark.off < end)
			continue;
		marks[cnt++] = mark;
		end = mark.off + mark.sz;
	}
	return cnt;
}

bool table_rows__place(const struct table_source *source, struct cfi_fde *fde)
{
	return cursor__left(&fde->instructions) <= INSTRUCTIONS_MAX &&
	       tablerows_place(source, &fde->start, &fde->sz);
}

#define START_CONTEXT_SZ_MAX 64 /* bytes of the whole function */

static bool tablerows_is_start_context(const struct table_rows *r, const struct cfi_fde *fde)
{
	const struct cursor *c = &fde->instructions;
	uint8_t bytes[CODE_START_CONTEXT_SZ];

	if (fde->sz > START_CONTEXT_SZ_MAX || fde->sz < sizeof(bytes) || !r->source->read_code ||
	    (cursor__left(c) && *c->pos != DW_CFA_nop))
		return false;
	return r->source->read_code(r->source->code_arg, fde->start, bytes, sizeof(bytes)) &&
	       elf_code__is_start_context(r->source->machine, bytes);
}

void table_rows__fde(struct table_rows *r, const struct cfi_fde *fde)
{
	struct cfi_row root = { fde->start, { .how = PACKED_ROOT } };

	if (r->end && fde->start > r->end)
		table_rows__gap(r, fde->start);
	if (tablerows_is_start_context(r, fde))
		tablerows_take_rows(&root, 1, fde->start + fde->sz, r);
	else
		cfi_fde__rows(fde, r->source->machine, tablerows_take_rows, r);
}

/* Returns the end of the segment with the last row. */
static uint64_t tablerows_end_of_code(const struct table_rows *r)
{
	for (size_t i = 0; i < r->source->segment_cnt; i++) {
		const struct table_segment *s = &r->source->segments[i];

		if (r->end - s->off < s->sz)
			return s->off + s->sz;
	}
	return r->end;
}

void table_rows__finish(struct table_rows *r)
{
	table_rows__gap(r, tablerows_end_of_code(r) + ALIGNMENT_GAP +
				   1); /* larger than any padding, so that the gap counts as code */
}
