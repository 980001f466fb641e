// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_tables ADDRESSES FILE…: compiles each file's table and compares it with what libdw says, at
 * the start of every row and at ADDRESSES random places more (0: at every address where a row of
 * libdw's may start). Prints differences and totals; exit status 1 when there was one.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unwind/cfi.h"
#include "unwind/tablefile.h"

struct totals {
	size_t files, rows, bytes, rules, compared, elsewhere, different;
	double make_s;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool in_words(int32_t off, int16_t words)
{
	return off == words * 8;
}

/* Whether libdw's rule has the frame pointer as the flat one says. */
static bool same_fp(const struct rule *r, struct flat_rule flat)
{
	for (size_t i = 0; i < r->reg_cnt; i++) {
		const struct rule_reg *reg = &r->regs[i];
		const struct expr_op *op = rule__ops(r) + reg->off;

		if (reg->reg != DWARF_RBP)
			continue;
		if (reg->how == RULE_EXPR_AT)
			return flat.fp == FLAT_FP_AT_SELF && reg->op_cnt == 2 && /* the CFA first */
			       op[1].atom == DW_OP_breg0 + DWARF_RBP && op[1].a == 0;
		return reg->how == RULE_AT && in_words(reg->off, flat.fp);
	}
	return flat.fp == FLAT_FP_KEPT && !(r->undefined >> DWARF_RBP & 1);
}

static bool same_cfa(const struct rule *r, struct flat_rule flat)
{
	const struct expr_op *ops = rule__ops(r) + r->cfa.off;

	switch ((enum flat_how)flat.how) {
	case FLAT_SP:
		return r->cfa.how == RULE_REG && r->cfa.reg == DWARF_RSP &&
		       in_words(r->cfa.off, flat.cfa);
	case FLAT_FP:
		return r->cfa.how == RULE_REG && r->cfa.reg == DWARF_RBP &&
		       in_words(r->cfa.off, flat.cfa);
	case FLAT_AT_FP:
		return r->cfa.how == RULE_EXPR && r->cfa.op_cnt == 2 &&
		       ops[0].atom == DW_OP_breg0 + DWARF_RBP &&
		       in_words((int32_t)ops[0].a, flat.cfa) && ops[1].atom == DW_OP_deref;
	case FLAT_PLT: return r->cfa.how == RULE_EXPR && r->cfa.op_cnt == 9;
	case FLAT_NONE:
	case FLAT_ROOT:
	case FLAT_ELSEWHERE: break;
	}
	return false;
}

static bool same(const struct rule *r, struct flat_rule flat)
{
	if (flat.how == FLAT_ELSEWHERE)
		return true;
	if (!r || flat.how == FLAT_NONE)
		return !r == (flat.how == FLAT_NONE);
	if (r->flags & RULE_ROOT || flat.how == FLAT_ROOT)
		return !(r->flags & RULE_ROOT) == (flat.how != FLAT_ROOT);
	return r->flags == 0 && same_cfa(r, flat) && same_fp(r, flat) &&
	       r->regs[0].how == RULE_AT && in_words(r->regs[0].off, flat.ra);
}

struct comparison {
	struct elf_file *file;
	struct cfi *cfi;
	const struct table *table;
	struct totals *totals;
};

static void print(const struct comparison *c, uint64_t vaddr, const struct rule *r,
		  struct flat_rule f)
{
	printf("%s: %#lx: flat how %u cfa %d fp %d ra %d; libdw", c->file->path,
	       (unsigned long)vaddr, f.how, f.cfa, f.fp, f.ra);
	if (!r)
		printf(" nothing\n");
	else
		printf(" flags %x cfa how %u reg %u off %d, %u registers\n", r->flags, r->cfa.how,
		       r->cfa.reg, r->cfa.off, r->reg_cnt);
}

/* Up to 16 bytes between two functions have the rule of the first: nobody is there. */
static bool in_padding(const struct comparison *c, uint64_t vaddr)
{
	bool before = false, behind = false;

	for (uint64_t i = 1; i <= 16; i++) {
		before |= cfi__rule(c->cfi, vaddr - i, false) != NULL;
		behind |= cfi__rule(c->cfi, vaddr + i, false) != NULL;
	}
	return before && behind;
}

static void compare(const struct comparison *c, uint64_t off)
{
	struct flat_rule flat = table__at(c->table, off);
	const struct rule *rule;
	uint64_t vaddr;

	if (!elf_file__vaddr(c->file, off, &vaddr))
		return;
	rule = cfi__rule(c->cfi, vaddr, false);
	if (!rule && flat.how != FLAT_NONE && in_padding(c, vaddr))
		return;
	c->totals->compared++;
	c->totals->elsewhere += flat.how == FLAT_ELSEWHERE;
	if (same(rule, flat))
		return;
	c->totals->different++;
	if (c->totals->different < 50)
		print(c, vaddr, rule, flat);
}

static void compare_rows(const struct comparison *c, size_t random_cnt)
{
	const struct table *t = c->table;

	for (uint32_t page = 0; page < t->page_cnt; page++) {
		for (uint32_t i = table__pages(t)[page]; i < table__pages(t)[page + 1]; i++)
			compare(c,
				((t->first_page + page) << TABLE_PAGE_BITS) + table__starts(t)[i]);
	}
	for (size_t i = 0; i < random_cnt; i++) {
		uint32_t page = (uint32_t)(((uint64_t)random() * t->page_cnt) >> 31);

		compare(c,
			((t->first_page + page) << TABLE_PAGE_BITS) + ((uint64_t)random() & 4095));
	}
}

static void check(const char *path, size_t random_cnt, struct totals *totals)
{
	struct elf_file *f = elf_file__open(path);
	struct comparison c = { .file = f, .totals = totals };
	double start_s = now_s();
	struct table *t = f ? table__of_file(f) : NULL;

	if (t) {
		totals->make_s += now_s() - start_s;
		totals->files++;
		totals->rows += t->row_cnt;
		totals->rules += t->rule_cnt;
		totals->bytes += t->sz;
		if (!table__is_sound(t, t->sz, &f->build_id))
			totals->different++;
		c.table = t;
		c.cfi = cfi__of(f);
		compare_rows(&c, random_cnt);
	} else if (f && errno != ENOENT && errno != ENOTSUP) {
		printf("%s: %s\n", path, strerror(errno));
		totals->different++;
	}
	free(t);
	elf_file__put(f);
}

int main(int argc, char **argv)
{
	struct totals totals = { 0 };

	elf_version(EV_CURRENT);
	for (int i = 2; i < argc; i++)
		check(argv[i], strtoul(argv[1], NULL, 10), &totals);
	printf("%zu files, %zu rows, %zu rules, %.2f bytes a row, made in %.1f ms; compared %zu "
	       "places: "
	       "%zu left to libdw, %zu different\n",
	       totals.files, totals.rows, totals.rules,
	       totals.rows ? (double)totals.bytes / (double)totals.rows : 0, totals.make_s * 1e3,
	       totals.compared, totals.elsewhere, totals.different);
	return totals.different != 0;
}
