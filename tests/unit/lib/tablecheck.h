/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a file's table with libdw's rules, and with the lazy table's. */
#ifndef UNIT_TABLECHECK_H
#define UNIT_TABLECHECK_H

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cfi/libdwrules.h"
#include "cfi/tablebuild.h"

struct tablecheck {
	size_t files, rows, bytes, rules, compared, elsewhere, different;
	/* files with a lazy table, places with an answer, places without one */
	size_t indexed, answered, refused;
	double make_s;
};

static inline double tablecheck__now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline bool tablecheck__in_words(int32_t off, int16_t words)
{
	return off == words * 8;
}

static inline const struct rule_reg *tablecheck__reg(const struct full_rule *r, uint16_t reg)
{
	for (size_t i = 0; i < r->reg_cnt; i++)
		if (r->regs[i].reg == reg)
			return &r->regs[i];
	return NULL;
}

/* Returns whether libdw's rule for the frame pointer equals the packed one. */
static inline bool tablecheck__same_fp(const struct full_rule *r, const struct machine *m,
				       struct packed_rule flat)
{
	const struct rule_reg *reg = tablecheck__reg(r, m->fp);
	const struct expr_op *op = reg ? full_rule__ops(r) + reg->off : NULL;

	if (!reg)
		return flat.fp == PACKED_FP_KEPT && !(r->undefined >> m->fp & 1);
	if (reg->how == RULE_EXPR_AT)
		return flat.fp == PACKED_FP_AT_SELF && reg->op_cnt == 2 && /* the CFA first */
		       op[1].atom == (uint64_t)DW_OP_breg0 + m->fp && op[1].a == 0;
	return reg->how == RULE_AT && tablecheck__in_words(reg->off, flat.fp);
}

static inline bool tablecheck__same_ra(const struct full_rule *r, const struct machine *m,
				       struct packed_rule flat)
{
	if (flat.ra == PACKED_RA_LINKED)
		return r->regs[0].how == RULE_REG && r->regs[0].off == m->ra;
	return r->regs[0].how == RULE_AT && tablecheck__in_words(r->regs[0].off, flat.ra);
}

static inline bool tablecheck__same_cfa(const struct full_rule *r, const struct machine *m,
					struct packed_rule flat)
{
	const struct expr_op *ops = full_rule__ops(r) + r->cfa.off;
	uint16_t reg = flat.how == PACKED_SP ? m->sp : m->fp;

	switch ((enum packed_how)flat.how) {
	case PACKED_SP:
	case PACKED_FP:
		return r->cfa.how == RULE_REG && r->cfa.reg == reg &&
		       tablecheck__in_words(r->cfa.off, flat.cfa);
	case PACKED_AT_FP:
		return r->cfa.how == RULE_EXPR && r->cfa.op_cnt == 2 &&
		       ops[0].atom == (uint64_t)DW_OP_breg0 + m->fp &&
		       tablecheck__in_words((int32_t)ops[0].a, flat.cfa) &&
		       ops[1].atom == DW_OP_deref;
	case PACKED_PLT: return r->cfa.how == RULE_EXPR && r->cfa.op_cnt == 9;
	case PACKED_NONE:
	case PACKED_ROOT:
	case PACKED_ELSEWHERE:
	case PACKED_SIGNAL:
	case PACKED_SWITCH:
	case PACKED_POINTER: break;
	}
	return false;
}

/* Saved at sp + 8 * words. */
static inline bool tablecheck__in_signal_frame(const struct full_rule *r, const struct machine *m,
					       uint16_t regno, int16_t words)
{
	const struct rule_reg *reg = tablecheck__reg(r, regno);
	const struct expr_op *last = reg ? full_rule__ops(r) + reg->off + reg->op_cnt - 1 : NULL;

	return reg && reg->how == RULE_EXPR_AT && last->atom == (uint64_t)DW_OP_breg0 + m->sp &&
	       tablecheck__in_words((int32_t)last->a, words);
}

static inline bool tablecheck__same_signal(const struct full_rule *r, const struct machine *m,
					   struct packed_rule flat)
{
	return r->flags == RULE_SIGNAL && tablecheck__in_signal_frame(r, m, m->sp, flat.cfa) &&
	       tablecheck__in_signal_frame(r, m, m->fp, flat.fp) &&
	       tablecheck__in_signal_frame(r, m, m->pc, flat.ra);
}

static inline bool tablecheck__same(const struct full_rule *r, const struct machine *m,
				    struct packed_rule flat)
{
	if (flat.how == PACKED_ELSEWHERE)
		return true;
	if (!r || flat.how == PACKED_NONE)
		return !r == (flat.how == PACKED_NONE);
	if (r->flags & RULE_ROOT || flat.how == PACKED_ROOT)
		return !(r->flags & RULE_ROOT) == (flat.how != PACKED_ROOT);
	if (r->flags & RULE_SWITCH || flat.how == PACKED_SWITCH)
		return !(r->flags & RULE_SWITCH) == (flat.how != PACKED_SWITCH);
	if (flat.how == PACKED_SIGNAL)
		return tablecheck__same_signal(r, m, flat);
	if (r->flags != (flat.flags & PACKED_UNWINDING ? RULE_UNWINDING : 0))
		return false;
	return tablecheck__same_cfa(r, m, flat) && tablecheck__same_fp(r, m, flat) &&
	       tablecheck__same_ra(r, m, flat);
}

struct tablecheck_run {
	struct elf_file *file;
	struct libdw_rules *cfi;
	const struct cfi_table *table;
	struct lazy_table *index; /* NULL: none */
	struct tablecheck *totals;
};

static inline void tablecheck__print(const struct tablecheck_run *c, uint64_t vaddr,
				     const struct full_rule *r, struct packed_rule f)
{
	printf("%s: %#lx: flat how %u cfa %d fp %d ra %d; libdw", c->file->path,
	       (unsigned long)vaddr, f.how, f.cfa, f.fp, f.ra);
	if (!r)
		printf(" nothing\n");
	else
		printf(" flags %x cfa how %u reg %u off %d, %u registers\n", r->flags, r->cfa.how,
		       r->cfa.reg, r->cfa.off, r->reg_cnt);
}

/* Up to 16 bytes between two functions have the rule of the first: they are never executed. */
static inline bool tablecheck__in_padding(const struct tablecheck_run *c, uint64_t vaddr)
{
	bool before = false, behind = false;

	for (uint64_t i = 1; i <= 16; i++) {
		before |= libdw_rules__rule(c->cfi, vaddr - i, false) != NULL;
		behind |= libdw_rules__rule(c->cfi, vaddr + i, false) != NULL;
	}
	return before && behind;
}

static inline void tablecheck__differs(const struct tablecheck_run *c, uint64_t vaddr,
				       const struct full_rule *r, struct packed_rule f)
{
	c->totals->different++;
	if (c->totals->different < 50)
		tablecheck__print(c, vaddr, r, f);
}

static inline bool tablecheck__is_code(const struct elf_file *f, uint64_t off)
{
	for (size_t i = 0; i < f->segment_cnt; i++)
		if (f->segments[i].flags & PF_X && off - f->segments[i].off < f->segments[i].sz)
			return true;
	return false;
}

/* Checks that a single FDE gives the same rule as the table. */
static inline void tablecheck__ask_index(const struct tablecheck_run *c, uint64_t off)
{
	const struct lazy_query query = { c->file, elf_file__read, off };
	struct packed_rule flat = cfi_table__at(c->table, off), one;

	if (!c->index || !tablecheck__is_code(c->file, off))
		return;
	if (lazy_table__rule(c->index, &query, &one)) {
		c->totals->refused++;
		return;
	}
	c->totals->answered++;
	if (packed_rule__bits(one) == packed_rule__bits(flat))
		return;
	printf("of the FDE alone: how %u cfa %d fp %d ra %d\n", one.how, one.cfa, one.fp, one.ra);
	tablecheck__differs(c, off, NULL, flat);
}

#define TABLECHECK_START_CONTEXT_SZ 64

/* Returns whether the place is in glibc's __start_context: its code shows that it is a root, its
 * CFI does not. */
static inline bool tablecheck__in_start_context(const struct elf_file *f, uint64_t vaddr)
{
	for (uint64_t i = 0; i < TABLECHECK_START_CONTEXT_SZ && i < vaddr; i++) {
		struct elf_code text = elf_code__at(f, vaddr - i);

		elf_code__copy(&text, f);
		if (elf_code__starts_context(&text))
			return true;
	}
	return false;
}

static inline void tablecheck__compare(const struct tablecheck_run *c, uint64_t off)
{
	struct packed_rule flat = cfi_table__at(c->table, off);
	const struct full_rule *rule;
	uint64_t vaddr;

	tablecheck__ask_index(c, off);
	if (!elf_file__vaddr(c->file, off, &vaddr))
		return;
	rule = libdw_rules__rule(c->cfi, vaddr, false);
	if (!rule && flat.how != PACKED_NONE && tablecheck__in_padding(c, vaddr))
		return;
	c->totals->compared++;
	c->totals->elsewhere += flat.how == PACKED_ELSEWHERE;
	if (flat.flags & PACKED_CALLERS_ONLY || tablecheck__same(rule, c->file->machine, flat))
		return;
	if (flat.how == PACKED_ROOT && tablecheck__in_start_context(c->file, vaddr))
		return;
	tablecheck__differs(c, vaddr, rule, flat);
}

static inline void tablecheck__compare_rows(const struct tablecheck_run *c, size_t random_cnt)
{
	const struct cfi_table *t = c->table;

	for (uint32_t page = 0; page < t->page_cnt; page++) {
		for (uint32_t i = cfi_table__pages(t)[page]; i < cfi_table__pages(t)[page + 1]; i++)
			tablecheck__compare(c, ((t->first_page + page) << TABLE_PAGE_BITS) +
						       cfi_table__rows(t)[i].start);
	}
	for (size_t i = 0; i < random_cnt; i++) {
		uint32_t page = (uint32_t)(((uint64_t)random() * t->page_cnt) >> 31);

		tablecheck__compare(c, ((t->first_page + page) << TABLE_PAGE_BITS) +
					       ((uint64_t)random() % (1u << TABLE_PAGE_BITS)));
	}
}

/* Checks the start of every row and random_cnt other places. A file without a table counts for
 * nothing. */
static inline void tablecheck__file(const char *path, size_t random_cnt, struct tablecheck *totals)
{
	struct elf_file *f = elf_file__open(path);
	struct elf_file *again = elf_file__open(path); /* f has decompressed its sections */
	struct tablecheck_run c = { .file = again, .totals = totals };
	struct lazy_reader reader = { elf_file__read, page_cache__new() };
	double start_s = tablecheck__now_s();
	struct cfi_table *t = f ? cfi_table__of_file(f) : NULL;

	if (t) {
		totals->make_s += tablecheck__now_s() - start_s;
		totals->files++;
		totals->rows += t->row_cnt;
		totals->rules += t->rule_cnt;
		totals->bytes += t->sz;
		if (!cfi_table__is_sound(t, t->sz, &f->build_id))
			totals->different++;
		c.table = t;
		c.cfi = libdw_rules__of(again, NULL);
		c.index = lazy_table__of_file(again, reader);
		totals->indexed += c.index != NULL;
		tablecheck__compare_rows(&c, random_cnt);
	} else if (f && errno != ENOENT && errno != ENOTSUP) {
		printf("%s: %s\n", path, strerror(errno));
		totals->different++;
	}
	lazy_table__free(c.index);
	page_cache__free(reader.pages);
	free(t);
	elf_file__put(f);
	elf_file__put(again);
}

#endif
