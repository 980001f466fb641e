// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables: handwritten rows, damaged tables, and a comparison with libdw for real files. */
#include "lib/test.h"

#include <errno.h>
#include <glob.h>
#include <sys/stat.h>

#include "lib/shell.h"
#include "lib/tablecheck.h"

#define FUNCTION(n) (0x10000u + 0x100 * (n))
#define KEPT	    PACKED_FP_KEPT
#define ADDRESSES   20000
#define FILES	    (30 / EVERY_NTH_SANITIZED(6))

/* Functions 256 bytes apart. Each nop is a place; CFI that gas has no name for is written as bytes.
 */
static const char source[] =
	".macro function\n .p2align 8\n.endm\n"
	".macro begin\n function\n.cfi_startproc\n.endm\n"
	".macro end\n.cfi_endproc\n.endm\n.text\n"
	/* 0: a frame pointer; an epilogue; the previous state again */
	"begin\n nop\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\n nop\n"
	".cfi_def_cfa_register %rbp\n nop\n.cfi_remember_state\n.cfi_restore %rbp\n"
	".cfi_def_cfa %rsp,8\n nop\n.cfi_restore_state\n nop\nend\n"
	/* 1: the first function of a thread */
	"begin\n.cfi_undefined %rip\n nop\nend\n"
	/* 2: nested states */
	"begin\n.cfi_remember_state\n.cfi_def_cfa_offset 16\n.cfi_remember_state\n"
	".cfi_def_cfa_offset 24\n nop\n.cfi_restore_state\n nop\n.cfi_restore_state\n nop\nend\n"
	/* 3: restores more states than were saved: the rest is not used */
	"begin\n nop\n.cfi_escape 0x0b\n nop\n.cfi_def_cfa_offset 32\n nop\nend\n"
	/* 4: a PLT */
	"begin\n.cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22\n nop\nend\n"
	/* 5: a realigned stack: CFA = *(rbp - 8), the caller's rbp at *(rbp) */
	"begin\n.cfi_escape 0x0f,3,0x76,0x78,6\n.cfi_escape 0x10,6,2,0x76,0\n nop\nend\n"
	/* 6: a signal frame; 7: the return address in a register; 8: CFA by rbx */
	"begin\n.cfi_signal_frame\n nop\nend\n"
	"begin\n.cfi_register %rip,%rdi\n nop\nend\n"
	"begin\n.cfi_def_cfa %rbx,16\n nop\nend\n"
	/* 9: the caller's rsp is not the CFA, until it is again */
	"begin\n.cfi_offset %rsp,-24\n nop\n.cfi_same_value %rsp\n nop\nend\n"
	/* 10: offsets by each instruction that has one: offset_extended(_sf), def_cfa(_offset)_sf,
	 * GNU_negative_offset_extended */
	"begin\n.cfi_escape 5,6,3\n nop\n.cfi_escape 0x11,6,4\n nop\n.cfi_escape 0x12,7,0x7c\n "
	"nop\n"
	".cfi_escape 0x13,0x7a\n nop\n.cfi_escape 0x2f,6,0x7e\n nop\nend\n"
	/* 11: rbp undefined, CFA + n, an expression; and kept again */
	"begin\n.cfi_undefined %rbp\n nop\n.cfi_val_offset %rbp,-16\n nop\n"
	".cfi_escape 0x16,6,2,0x76,8\n nop\n.cfi_same_value %rbp\n nop\nend\n"
	/* 12: odd offsets and large ones have no packed rule */
	"begin\n.cfi_def_cfa_offset 12\n nop\n.cfi_def_cfa_offset 0x100000\n nop\n"
	".cfi_def_cfa_offset 8\n nop\nend\n"
	/* 13: an unknown instruction; args_size is known and has no effect */
	"begin\n.cfi_escape 0x2e,16\n nop\n.cfi_escape 0x3f\n nop\nend\n"
	/* 14: advance_loc1, 2, 4 are used for gaps of their size */
	"begin\n nop\n.cfi_def_cfa_offset 16\n.skip 100\n.cfi_def_cfa_offset 24\n nop\nend\n"
	/* 15: no FDE; 16: an empty one */
	"function\n nop\nbegin\nend\n nop\n"
	/* 17: across pages */
	"begin\n.skip 300\n.cfi_def_cfa_offset 16\n.skip 70000\n.cfi_def_cfa_offset 24\n "
	"nop\nend\n";

struct lib {
	struct elf_file *file;
	struct cfi_table *table;
};

static struct lib build(const char *dir, const char *flags)
{
	char *path = shell__output("printf %%s %s/lib.s", dir);
	FILE *f = fopen(path, "w");
	struct lib l;

	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	shell__run("gcc -shared -nostdlib -Wl,--build-id,-Ttext=0x10000 %s -o %s/lib.so %s 2>&1",
		   flags, dir, path);
	free(path);
	path = shell__output("printf %%s %s/lib.so", dir);
	l.file = elf_file__open(path);
	assert_non_null(l.file);
	l.table = cfi_table__of_file(l.file);
	assert_non_null(l.table);
	free(path);
	return l;
}

static void drop(struct lib *l)
{
	free(l->table);
	elf_file__put(l->file);
}

static struct packed_rule at(const struct lib *l, uint64_t vaddr)
{
	for (size_t i = 0; i < l->file->segment_cnt; i++) {
		const struct elf_segment *s = &l->file->segments[i];

		if (vaddr - s->vaddr < s->sz && (s->flags & PF_X))
			return cfi_table__at(l->table, vaddr - s->vaddr + s->off);
	}
	return (struct packed_rule){ .how = PACKED_NONE }; /* after the text */
}

static const struct expected {
	unsigned function, place; /* bytes from its start */
	struct packed_rule rule;
} rows[] = {
#define PLAIN(f, p, h, c, r)                                  \
	{                                                     \
		f, p,                                         \
		{                                             \
			.how = h, .cfa = c, .fp = r, .ra = -1 \
		}                                             \
	}
#define BARE(f, p, h)            \
	{                        \
		f, p,            \
		{                \
			.how = h \
		}                \
	}
	PLAIN(0, 0, PACKED_SP, 1, KEPT),      PLAIN(0, 1, PACKED_SP, 2, -2),
	PLAIN(0, 2, PACKED_FP, 2, -2),	      PLAIN(0, 3, PACKED_SP, 1, KEPT),
	PLAIN(0, 4, PACKED_FP, 2, -2),	      BARE(1, 0, PACKED_ROOT),
	PLAIN(2, 0, PACKED_SP, 3, KEPT),      PLAIN(2, 1, PACKED_SP, 2, KEPT),
	PLAIN(2, 2, PACKED_SP, 1, KEPT),      PLAIN(3, 0, PACKED_SP, 1, KEPT),
	BARE(3, 1, PACKED_ELSEWHERE),	      BARE(3, 2, PACKED_ELSEWHERE),
	PLAIN(4, 0, PACKED_PLT, 11, KEPT),    PLAIN(5, 0, PACKED_AT_FP, -1, PACKED_FP_AT_SELF),
	BARE(6, 0, PACKED_ELSEWHERE),	      BARE(7, 0, PACKED_ELSEWHERE),
	BARE(8, 0, PACKED_ELSEWHERE),	      BARE(9, 0, PACKED_ELSEWHERE),
	PLAIN(9, 1, PACKED_SP, 1, KEPT),      PLAIN(10, 0, PACKED_SP, 1, -3),
	PLAIN(10, 1, PACKED_SP, 1, -4),	      PLAIN(10, 2, PACKED_SP, 4, -4),
	PLAIN(10, 3, PACKED_SP, 6, -4),	      PLAIN(10, 4, PACKED_SP, 6, 126),
	BARE(11, 0, PACKED_ELSEWHERE),	      BARE(11, 1, PACKED_ELSEWHERE),
	BARE(11, 2, PACKED_ELSEWHERE),	      PLAIN(11, 3, PACKED_SP, 1, KEPT),
	BARE(12, 0, PACKED_ELSEWHERE),	      BARE(12, 1, PACKED_ELSEWHERE),
	PLAIN(12, 2, PACKED_SP, 1, KEPT),     PLAIN(13, 0, PACKED_SP, 1, KEPT),
	BARE(13, 1, PACKED_ELSEWHERE),	      PLAIN(14, 0, PACKED_SP, 1, KEPT),
	PLAIN(14, 1, PACKED_SP, 2, KEPT),     PLAIN(14, 100, PACKED_SP, 2, KEPT),
	PLAIN(14, 101, PACKED_SP, 3, KEPT),   BARE(15, 0, PACKED_NONE),
	BARE(15, 200, PACKED_NONE),	      BARE(16, 0, PACKED_NONE),
	PLAIN(17, 299, PACKED_SP, 1, KEPT),   PLAIN(17, 300, PACKED_SP, 2, KEPT),
	PLAIN(17, 4096, PACKED_SP, 2, KEPT),  PLAIN(17, 70299, PACKED_SP, 2, KEPT),
	PLAIN(17, 70300, PACKED_SP, 3, KEPT), BARE(17, 71000, PACKED_NONE),
};

static void check_rows(const struct lib *l)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct packed_rule got = at(l, FUNCTION(rows[i].function) + rows[i].place);

		if (packed_rule__bits(got) != packed_rule__bits(rows[i].rule))
			print_message("function %u, place %u: how %u cfa %d fp %d ra %d\n",
				      rows[i].function, rows[i].place, got.how, got.cfa, got.fp,
				      got.ra);
		assert_int_equal(packed_rule__bits(got), packed_rule__bits(rows[i].rule));
	}
}

static void every_instruction_has_the_same_rule(void **state)
{
	struct lib l = build(*state, "");

	check_rows(&l);
	assert_true(cfi_table__is_sound(l.table, l.table->sz, &l.file->build_id));
	drop(&l);
}

static void a_damaged_table_is_not_sound(void **state)
{
	struct lib l = build(*state, "");
	struct build_id other = l.file->build_id;
	uint8_t *bytes = (uint8_t *)l.table;

	other.bytes[0] ^= 1;
	assert_false(cfi_table__is_sound(l.table, l.table->sz, &other));
	for (size_t sz = 0; sz < l.table->sz; sz += 13)
		assert_false(cfi_table__is_sound(l.table, sz, &l.file->build_id));
	for (size_t i = 0; i < l.table->sz; i++) {
		bytes[i] ^= 0x10;
		assert_false(cfi_table__is_sound(l.table, l.table->sz, &l.file->build_id));
		bytes[i] ^= 0x10;
	}
	assert_true(cfi_table__is_sound(l.table, l.table->sz, &l.file->build_id));
	drop(&l);
}

static int larger(const void *a, const void *b)
{
	struct stat sa, sb;

	if (stat(*(char *const *)a, &sa) || stat(*(char *const *)b, &sb))
		return 0;
	return (sa.st_size < sb.st_size) - (sa.st_size > sb.st_size);
}

/* Libraries and programs of this system of up to 2 MB; check-all compares all of them. */
static void real_files_equal_libdw(void **state)
{
	struct tablecheck totals = { 0 };
	struct stat st;
	glob_t found;

	(void)state;
	assert_int_equal(glob("/usr/lib/x86_64-linux-gnu/*.so.?", 0, NULL, &found), 0);
	assert_int_equal(glob("/usr/bin/[a-z]*[a-z]", GLOB_APPEND, NULL, &found), 0);
	qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), larger);
	for (size_t i = 0; i < found.gl_pathc && totals.files < FILES; i++) {
		if (!stat(found.gl_pathv[i], &st) && st.st_size < 2 << 20)
			tablecheck__file(found.gl_pathv[i], ADDRESSES, &totals);
	}
	globfree(&found);
	assert_int_equal(totals.files, FILES);
	assert_int_equal(totals.different, 0);
	assert_true(totals.compared > FILES * ADDRESSES / 2);
	assert_true(totals.elsewhere * 100 < totals.compared);
	assert_true(totals.refused * 1000 < totals.answered);
	assert_true(totals.bytes < totals.rows * 5);
}

/* ---- forged sections ---------------------------------------------------------------------------
 */

#define FDE_SZ 20

/* A CIE of `cie_sz` bytes after its length, then `cnt` FDEs of a byte of code each. */
static struct cfi_section forge(size_t cie_sz, size_t cnt)
{
	static const uint8_t cie[] = { 0,    0,	 0, 0, 1,  'z', 'R', 0,	   1,
				       0x78, 16, 1, 3, 12, 7,	8,   0x90, 1 };
	size_t sz = 4 + cie_sz + cnt * FDE_SZ;
	uint8_t *data = calloc(1, sz), *at = data;

	assert_non_null(data);
	memcpy(at, &(uint32_t){ (uint32_t)cie_sz }, 4);
	memcpy(at + 4, cie, sizeof(cie));
	at += 4 + cie_sz;
	for (uint32_t i = 0; i < cnt; i++, at += FDE_SZ)
		memcpy(at, (uint32_t[]){ FDE_SZ - 4, (uint32_t)(at + 4 - data), 0x1000 + i, 1, 0 },
		       FDE_SZ);
	return (struct cfi_section){ data, sz, 0x10000000, true };
}

static int error_of(size_t cie_sz, size_t cnt)
{
	struct cfi_section s = forge(cie_sz, cnt);
	struct table_segment code = { 0x1000, 0x1000, 1 << 24 };
	struct table_source forged = { .machine = &machine_x86_64,
				       .segments = &code,
				       .segment_cnt = 1,
				       .sections = &s,
				       .section_cnt = 1 };
	struct cfi_table *t = cfi_table__make(&forged);
	int err = t ? 0 : errno;

	free(t);
	free((void *)s.data);
	return err;
}

/* Any user can have the collector read such a file; 64 MB of it took 20 s. */
static void a_forged_section_takes_little_time(void **state)
{
	(void)state;
	assert_int_equal(error_of(64, 100), 0);
	assert_int_equal(error_of(400, 100), ENOENT);
	assert_int_equal(error_of(64, TABLE_FDE_MAX), 0);
	assert_int_equal(error_of(64, TABLE_FDE_MAX + 1), E2BIG);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(every_instruction_has_the_same_rule, shell__setup,
					  shell__teardown),
	  cmocka_unit_test_setup_teardown(a_damaged_table_is_not_sound, shell__setup,
					  shell__teardown),
	  cmocka_unit_test(a_forged_section_takes_little_time),
	  cmocka_unit_test(real_files_equal_libdw))
