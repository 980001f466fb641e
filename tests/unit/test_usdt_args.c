// SPDX-License-Identifier: GPL-2.0-or-later
/* Argument strings of USDT notes, as written by gcc, clang and rustc. */
#include "lib/test.h"

#include <asm/ptrace.h>
#include <errno.h>
#include <string.h>

#include "capture/usdt_args.h"

#define NONE   USDT_NO_REG
#define REG(r) offsetof(struct pt_regs, r)

static void each_kind_of_operand_is_parsed(void **state)
{
	static const struct {
		const char *text;
		struct usdt_arg arg;
	} cases[] = {
		{ "8@%rdi", { 0, REG(rdi), NONE, 0, 0, 8, 0 } },
		{ "-8@%rax", { 0, REG(rax), NONE, 0, 0, 8, 1 } },
		{ "-4@%r15d", { 0, REG(r15), NONE, 0, 0, 4, 1 } },
		{ "2@%r8w", { 0, REG(r8), NONE, 0, 0, 2, 0 } },
		{ "1@%dil", { 0, REG(rdi), NONE, 0, 0, 1, 0 } },
		{ "1@%al", { 0, REG(rax), NONE, 0, 0, 1, 0 } },
		{ "%rsp", { 0, REG(rsp), NONE, 0, 0, 8, 0 } },
		{ "-4@$5", { 5, NONE, NONE, 0, 0, 4, 1 } },
		{ "-8@$-3", { (uint64_t)-3, NONE, NONE, 0, 0, 8, 1 } },
		{ "8@$0xffffffffffffffff", { UINT64_MAX, NONE, NONE, 0, 0, 8, 0 } },
		{ "8@(%rdx)", { 0, REG(rdx), NONE, 0, 1, 8, 0 } },
		{ "-1@4(%rdx)", { 4, REG(rdx), NONE, 0, 1, 1, 1 } },
		{ "8@-16(%rbp)", { (uint64_t)-16, REG(rbp), NONE, 0, 1, 8, 0 } },
		{ "8@-8+4(%rbp)", { (uint64_t)-4, REG(rbp), NONE, 0, 1, 8, 0 } },
		{ "8@8(%rax,%rcx,4)", { 8, REG(rax), REG(rcx), 2, 1, 8, 0 } },
		{ "8@(%rax,%rcx)", { 0, REG(rax), REG(rcx), 0, 1, 8, 0 } },
		{ "8@(,%r12,8)", { 0, NONE, REG(r12), 3, 1, 8, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct usdt_arg arg = { 0 };
		const char *bad;

		if (usdt_args__parse(cases[i].text, &arg, 1, &bad) != 1 ||
		    memcmp(&arg, &cases[i].arg, sizeof(arg)) != 0)
			fail_msg("%s", cases[i].text);
	}
}

static void unreadable_operands_are_refused(void **state)
{
	static const char *const texts[] = {
		"8f@%xmm0",   "4f@%edx",   "8@g(%rip)",
		"8@8(%rip)",  "8@sym",	   "8@1234",
		"3@%rax",     "16@%rax",   "8@",
		"@%rax",      "8@%",	   "8@%rxx",
		"1@%ah",      "8@$",	   "8@$sym",
		"8@(",	      "8@()",	   "8@(%rax",
		"8@(%eax)",   "8@(%rax,)", "8@(%rax,%rbx,3)",
		"8@%rax%rbx", "8@%fs:0",   "8@--5(%rax)",
		"8@5",	      "-",	   "8@$5x",
		"8@+(%rax)",  "8@(%rax))", "8@%rdi,",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct usdt_arg arg;
		const char *bad = NULL;

		if (usdt_args__parse(texts[i], &arg, 1, &bad) != -EINVAL || bad != texts[i])
			fail_msg("%s", texts[i]);
	}
}

static void arguments_are_counted(void **state)
{
	const char *text = " 8@%rdi  -4@$5 8@-16(%rbp,%rax,8) ", *bad = NULL;
	struct usdt_arg args[3];

	(void)state;
	assert_int_equal(usdt_args__parse("", args, 3, &bad), 0);
	assert_int_equal(usdt_args__parse("  ", args, 3, &bad), 0);
	assert_int_equal(usdt_args__parse(text, args, 3, &bad), 3);
	assert_int_equal(args[2].base, REG(rbp));
	/* surplus arguments are not parsed */
	assert_int_equal(usdt_args__parse("8@%rdi 8f@%xmm0", args, 1, &bad), 2);
	assert_null(bad);
	assert_int_equal(usdt_args__parse("8@%rdi 8f@%xmm0", args, 2, &bad), -EINVAL);
	assert_string_equal(bad, "8f@%xmm0");
}

RUN_TESTS(cmocka_unit_test(each_kind_of_operand_is_parsed),
	  cmocka_unit_test(unreadable_operands_are_refused),
	  cmocka_unit_test(arguments_are_counted))
