// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules derived from the instructions of assembled snippets. */
#include <time.h>

#include "lib/test.h"

#include "lib/shell.h"
#include "base/array.h"
#include "cfi/codescan.h"

#define VADDR 0x1000u

struct scan {
	uint8_t *code;
	size_t sz;
	struct cfi_row *rows;
	size_t cnt, cap;
};

static void add_row(const struct cfi_row *row, void *arg)
{
	struct scan *s = arg;

	assert_true(row->at >= VADDR && row->at < VADDR + s->sz);
	assert_true(!s->cnt || row->at > s->rows[s->cnt - 1].at);
	s->rows = array__room(s->rows, s->cnt, &s->cap, sizeof(*row));
	assert_non_null(s->rows);
	s->rows[s->cnt++] = *row;
}

static void assemble(struct scan *s, const char *folder, const char *source)
{
	char path[512];
	FILE *f;

	*s = (struct scan){ 0 };
	shell__write(folder, "code.s", source);
	shell__run("cd %s && gcc -c -o code.o code.s 2>&1 && "
		   "objcopy -O binary -j .text code.o code.bin 2>&1",
		   folder);
	snprintf(path, sizeof(path), "%s/code.bin", folder);
	f = fopen(path, "r");
	assert_non_null(f);
	s->code = malloc(65536);
	s->sz = fread(s->code, 1, 65536, f);
	fclose(f);
}

static void scan_with(struct scan *s, const struct code_start *starts, size_t cnt, uint64_t entry)
{
	const struct code_gap gap = { s->code, s->sz, VADDR, starts, cnt, entry };

	code_scan(&gap, add_row, s);
}

static void scan_free(struct scan *s)
{
	free(s->code);
	free(s->rows);
}

static const struct packed_rule *rule_at(const struct scan *s, size_t off)
{
	const struct packed_rule *rule = NULL;

	for (size_t i = 0; i < s->cnt && s->rows[i].at <= VADDR + off; i++)
		rule = &s->rows[i].rule;
	return rule;
}

/* The expected rule at an offset. .cfa and .fp are in words; KEPT: the caller's. */
#define KEPT PACKED_FP_KEPT
struct expected {
	size_t off;
	enum packed_how how;
	int cfa, fp;
	uint8_t flags;
};

static void check(const struct scan *s, const struct expected *e, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct packed_rule *r = rule_at(s, e[i].off);

		assert_non_null(r);
		if (r->how != e[i].how || r->flags != e[i].flags ||
		    (r->how < PACKED_NONE && (r->cfa != e[i].cfa || r->fp != e[i].fp)))
			fail_msg("at 0x%zx: how %u, CFA %d, fp %d, flags %u", e[i].off, r->how,
				 r->cfa, r->fp, r->flags);
	}
}

#define EXPECT(s, ...)                                          \
	do {                                                    \
		const struct expected list[] = { __VA_ARGS__ }; \
		check(s, list, sizeof(list) / sizeof(*list));   \
	} while (0)

/* Assembles, scans without symbols, and checks. */
#define SCAN(state, source, ...)                          \
	do {                                              \
		struct scan scanned;                      \
		assemble(&scanned, *(state), source);     \
		scan_with(&scanned, NULL, 0, UINT64_MAX); \
		EXPECT(&scanned, __VA_ARGS__);            \
		scan_free(&scanned);                      \
	} while (0)

static void follows_pushes_and_reserved_space(void **state)
{
	SCAN(state,
	     "push %rbx\npush %r12\nsub $24,%rsp\ncall .\nadd $24,%rsp\npop %r12\npop %rbx\nret\n",
	     { 0, PACKED_SP, 1, KEPT, 0 }, { 1, PACKED_SP, 2, KEPT, 0 },
	     { 3, PACKED_SP, 3, KEPT, 0 }, { 7, PACKED_SP, 6, KEPT, 0 },
	     { 16, PACKED_SP, 3, KEPT, 0 }, { 18, PACKED_SP, 2, KEPT, 0 },
	     { 19, PACKED_SP, 1, KEPT, 0 });
	SCAN(state, "lea -40(%rsp),%rsp\nnop\nlea 40(%rsp),%rsp\nret\n",
	     { 0, PACKED_SP, 1, KEPT, 0 }, { 5, PACKED_SP, 6, KEPT, 0 },
	     { 11, PACKED_SP, 1, KEPT, 0 });
}

static void follows_frame_pointers(void **state)
{
	SCAN(state, "push %rbp\nmov %rsp,%rbp\nand $-16,%rsp\nnop\nleave\nret\n",
	     { 0, PACKED_SP, 1, KEPT, 0 }, { 1, PACKED_SP, 2, -2, 0 }, { 4, PACKED_FP, 2, -2, 0 },
	     { 8, PACKED_FP, 2, -2, 0 }, { 10, PACKED_SP, 1, KEPT, 0 });
	SCAN(state,
	     "push %rbp\nmov %rsp,%rbp\nsub $16,%rsp\nlea -8(%rbp),%rsp\npop %rbx\npop %rbp\nret\n",
	     { 8, PACKED_FP, 2, -2, 0 }, { 13, PACKED_FP, 2, -2, 0 },
	     { 14, PACKED_SP, 1, KEPT, 0 });
}

static void follows_a_frame_pointer_that_is_moved_to_the_stack(void **state)
{
	SCAN(state,
	     "sub $56,%rsp\nmov %rbp,8(%rsp)\nmov %rdi,%rbp\nnop\nmov 8(%rsp),%rbp\nadd "
	     "$56,%rsp\nret\n",
	     { 4, PACKED_SP, 8, KEPT, 0 }, { 9, PACKED_SP, 8, -7, 0 }, { 12, PACKED_SP, 8, -7, 0 },
	     { 18, PACKED_SP, 8, KEPT, 0 }, { 22, PACKED_SP, 1, KEPT, 0 });
}

static void marks_a_lost_frame_pointer(void **state)
{
	SCAN(state, "nop\nxor %ebp,%ebp\nnop\nret\n", { 0, PACKED_SP, 1, KEPT, 0 },
	     { 3, PACKED_SP, 1, KEPT, PACKED_FP_LOST });
	SCAN(state, "mov (%rdi),%rbp\npush %rbp\nret\n", { 3, PACKED_SP, 1, KEPT, PACKED_FP_LOST },
	     { 4, PACKED_SP, 2, KEPT, PACKED_FP_LOST });
}

static void carries_states_along_jumps(void **state)
{
	/* an early return; the rest is in the frame */
	SCAN(state, "push %rbx\ntest %edi,%edi\nje 1f\npop %rbx\nret\n1: nop\npop %rbx\nret\n",
	     { 5, PACKED_SP, 2, KEPT, 0 }, { 6, PACKED_SP, 1, KEPT, 0 },
	     { 7, PACKED_SP, 2, KEPT, 0 }, { 9, PACKED_SP, 1, KEPT, 0 });
	/* a backward jump to code that is not reached otherwise */
	SCAN(state, "push %rbx\njmp 2f\n1: nop\npop %rbx\nret\n2: nop\njmp 1b\n",
	     { 3, PACKED_SP, 2, KEPT, 0 }, { 5, PACKED_SP, 1, KEPT, 0 },
	     { 6, PACKED_SP, 2, KEPT, 0 });
	/* two backward jumps; the later one leads to the earlier one */
	SCAN(state, "push %rbx\njmp 3f\n1: cltd\npop %rbx\nret\n2: cltd\njmp 1b\n3: cltd\njmp 2b\n",
	     { 3, PACKED_SP, 2, KEPT, 0 }, { 5, PACKED_SP, 1, KEPT, 0 },
	     { 6, PACKED_SP, 2, KEPT, 0 });
	/* a jump table's cases */
	SCAN(state, "push %rbx\njmp *%rax\ncltd\npop %rbx\nret\ncltd\npop %rbx\nret\n",
	     { 3, PACKED_SP, 2, KEPT, 0 }, { 5, PACKED_SP, 1, KEPT, 0 },
	     { 6, PACKED_SP, 2, KEPT, 0 }, { 8, PACKED_SP, 1, KEPT, 0 });
}

static void finds_a_function_behind_an_end(void **state)
{
	SCAN(state, "push %rbx\npop %rbx\nret\n.p2align 4\npush %r12\nret\n",
	     { 16, PACKED_SP, 1, KEPT, 0 }, { 18, PACKED_SP, 2, KEPT, 0 });
	/* a call that does not return */
	SCAN(state, "push %rbx\ncall .\n.p2align 4\npush %r12\nret\n", { 5, PACKED_SP, 2, KEPT, 0 },
	     { 16, PACKED_SP, 1, KEPT, 0 }, { 18, PACKED_SP, 2, KEPT, 0 });
	/* zeros, like the padding of Free Pascal */
	SCAN(state, "push %rbx\npop %rbx\nret\n.p2align 4,0\npush %rbx\npop %rbx\nret\n",
	     { 16, PACKED_SP, 1, KEPT, 0 }, { 17, PACKED_SP, 2, KEPT, 0 });
}

static void knows_nothing_behind_an_end_that_no_jump_leads_to(void **state)
{
	SCAN(state, "push %rbx\nret\npush %rbx\nnop\nret\n", { 2, PACKED_NONE, 0, 0, 0 },
	     { 3, PACKED_NONE, 0, 0, 0 });
	SCAN(state, "push %rbx\n.byte 6\nnop\nret\n", { 0, PACKED_SP, 1, KEPT, 0 },
	     { 2, PACKED_NONE, 0, 0, 0 });
}

static void knows_functions_without_a_caller(void **state)
{
	struct scan s;

	/* a thread's start */
	SCAN(state, "nop\nxor %ebp,%ebp\npop %rax\ncall *%rax\nhlt\n", { 0, PACKED_SP, 1, KEPT, 0 },
	     { 1, PACKED_ROOT, 0, 0, 0 }, { 4, PACKED_ROOT, 0, 0, 0 }, { 6, PACKED_ROOT, 0, 0, 0 });
	/* it returns */
	SCAN(state, "nop\nxor %ebp,%ebp\nret\nhlt\n", { 3, PACKED_SP, 1, KEPT, PACKED_FP_LOST });
	/* it returns if a check holds */
	SCAN(state, "xor %ebp,%ebp\ncall .\njns 1f\nud2\n1: ret\n", { 0, PACKED_SP, 1, KEPT, 0 },
	     { 2, PACKED_SP, 1, KEPT, PACKED_FP_LOST }, { 11, PACKED_SP, 1, KEPT, PACKED_FP_LOST });
	/* after the end of the process, another function begins */
	assemble(&s, *state, "mov $231,%eax\nsyscall\npush %rbx\npop %rbx\nret\n");
	scan_with(&s, NULL, 0, VADDR);
	EXPECT(&s, { 0, PACKED_ROOT, 0, 0, 0 }, { 7, PACKED_NONE, 0, 0, 0 });
	scan_free(&s);
	assemble(&s, *state, "push %rbx\nret\n.p2align 4\nmov %rsp,%rdi\ncall .\nnop\n");
	scan_with(&s, NULL, 0, VADDR + 16);
	EXPECT(&s, { 1, PACKED_SP, 2, KEPT, 0 }, { 16, PACKED_ROOT, 0, 0, 0 },
	       { 24, PACKED_ROOT, 0, 0, 0 });
	scan_free(&s);
}

static void begins_functions_at_symbols(void **state)
{
	const struct code_start starts[] = { { VADDR, false },
					     { VADDR + 2, false },
					     { VADDR + 4, true } };
	struct scan s;

	assemble(&s, *state, "push %rbx\nnop\npush %rbx\nret\nnop\npush %rbx\nret\n");
	scan_with(&s, starts, 3, UINT64_MAX);
	EXPECT(&s, { 1, PACKED_SP, 2, KEPT, 0 }, { 2, PACKED_SP, 1, KEPT, 0 },
	       { 3, PACKED_SP, 2, KEPT, 0 }, { 4, PACKED_NONE, 0, 0, 0 },
	       { 6, PACKED_SP, 1, KEPT, 0 }); /* the last is a .cold part, except for its return */
	scan_free(&s);
}

#define FORGED_SZ (256u << 10)

/* A call and a nop at an aligned address: the function ends there when rows are made, and continues
 * to the end of the gap when jumps are collected. */
static void ends_soon_where_each_call_may_be_an_end(void **state)
{
	struct scan s = { .code = malloc(FORGED_SZ), .sz = FORGED_SZ };
	struct timespec from, to;

	(void)state;
	memset(s.code, 0x90, s.sz);
	for (size_t at = 0; at < s.sz; at += 16)
		s.code[at] = 0xe8;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	scan_with(&s, NULL, 0, UINT64_MAX);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_in_range(to.tv_sec - from.tv_sec, 0, 10);
	EXPECT(&s, { 0, PACKED_SP, 1, KEPT, 0 }, { s.sz - 1, PACKED_NONE, 0, 0, 0 });
	scan_free(&s);
}

/* Each jump leads before the previous one: each pass finds one more. */
static void ends_soon_on_forged_code(void **state)
{
	static const uint8_t patterns[][4] = {
		{ 0x75, 0xfc, 0xeb, 0xfa }, { 0x74, 0x7f, 0xeb, 0x80 }, { 0xeb, 0x0c, 0x75, 0x80 },
		{ 0xe8, 0, 0, 0 },	    { 0xc3, 0x90, 0xc3, 0x90 },
	};
	struct timespec from, to;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		struct scan s = { .code = malloc(FORGED_SZ), .sz = FORGED_SZ };

		for (size_t at = 0; at < s.sz; at++)
			s.code[at] = patterns[i][at & 3];
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		scan_with(&s, NULL, 0, UINT64_MAX);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		assert_in_range(to.tv_sec - from.tv_sec, 0, 10);
		scan_free(&s);
	}
}

RUN_TESTS(test_with_folder(follows_pushes_and_reserved_space),
	  test_with_folder(follows_frame_pointers),
	  test_with_folder(follows_a_frame_pointer_that_is_moved_to_the_stack),
	  test_with_folder(marks_a_lost_frame_pointer),
	  test_with_folder(carries_states_along_jumps),
	  test_with_folder(finds_a_function_behind_an_end),
	  test_with_folder(knows_nothing_behind_an_end_that_no_jump_leads_to),
	  test_with_folder(knows_functions_without_a_caller),
	  test_with_folder(begins_functions_at_symbols),
	  cmocka_unit_test(ends_soon_where_each_call_may_be_an_end),
	  cmocka_unit_test(ends_soon_on_forged_code))
