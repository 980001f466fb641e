// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules that call-frame information does not have. */
#include "lib/test.h"

#include <unistd.h>

#include "lib/shell.h"
#include "elf/section.h"
#include "cfi/libdwrules.h"
#include "cfi/table.h"
#include "cfi/tablebuild.h"

/* Checks the words between the stack pointer and the CFA. */
static void check_rule(struct elf_file *f, const struct cfi_table *t, uint64_t vaddr, int words)
{
	const struct full_rule *rule = libdw_rules__rule(libdw_rules__of(f, NULL), vaddr, false);
	struct packed_rule flat = { .how = PACKED_NONE };

	for (size_t i = 0; i < f->segment_cnt; i++)
		if (vaddr - f->segments[i].vaddr < f->segments[i].sz)
			flat = cfi_table__at(t, vaddr - f->segments[i].vaddr + f->segments[i].off);
	assert_int_equal(flat.how, PACKED_SP);
	assert_int_equal(flat.cfa, words);
	assert_int_equal(flat.fp, PACKED_FP_KEPT);
	assert_int_equal(flat.ra, -1);
	assert_non_null(rule);
	assert_int_equal(rule->cfa.how, RULE_REG);
	assert_int_equal(rule->cfa.reg, f->machine->sp);
	assert_int_equal(rule->cfa.off, 8 * words);
}

/* For a file without a table. */
static void check_index(struct elf_file *f, const struct cfi_table *t)
{
	struct lazy_table *x =
		lazy_table__of_file(f, (struct lazy_reader){ .read = elf_file__read });
	uint64_t from = t->first_page << TABLE_PAGE_BITS;

	assert_non_null(x);
	for (uint64_t off = from; off < from + ((uint64_t)t->page_cnt << TABLE_PAGE_BITS); off++) {
		const struct lazy_query query = { f, elf_file__read, off };
		struct packed_rule table = cfi_table__at(t, off), rule;

		if (lazy_table__rule(x, &query, &rule) == 0)
			assert_int_equal(packed_rule__bits(rule), packed_rule__bits(table));
		else
			assert_int_equal(table.how, PACKED_NONE);
	}
	lazy_table__free(x);
}

/* Byte by byte: sub $8,%rsp comes first, add $8,%rsp; ret last. */
static void check_section(struct elf_file *f, const struct cfi_table *t, const char *name)
{
	GElf_Shdr s;

	assert_true(section__named(f, name, &s));
	for (uint64_t i = 0; i < s.sh_size; i++)
		check_rule(f, t, s.sh_addr + i, i >= 4 && i < s.sh_size - 1 ? 2 : 1);
}

static void init_and_fini_are_recognized(void **state)
{
	char dir[] = "/tmp/test-XXXXXX", path[64];
	struct cfi_table *t;
	struct elf_file *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/x", mkdtemp(dir));
	shell__run(
		"printf '.section .note.GNU-stack\\n.section .init\\n sub $8,%%%%rsp\\n nop\\n add "
		"$8,%%%%rsp\\n ret\\n.section .fini\\n sub $8,%%%%rsp\\n add $8,%%%%rsp\\n ret\\n"
		".text\\n.cfi_startproc\\n ret\\n.cfi_endproc\\n' >%s.s && "
		"gcc -shared -nostdlib -o %s %s.s 2>&1",
		path, path, path);
	f = elf_file__open(path);
	shell__run("rm -r %s", dir);
	assert_non_null(f);
	t = cfi_table__of_file(f);
	assert_non_null(t);
	check_section(f, t, ".init");
	check_section(f, t, ".fini");
	check_index(f, t);
	free(t);
	elf_file__put(f);
}

RUN_TESTS(cmocka_unit_test(init_and_fini_are_recognized))
