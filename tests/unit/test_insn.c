// SPDX-License-Identifier: GPL-2.0-or-later
/* Lengths and effects of instructions: a table of encodings, and a comparison with objdump. */

#include "lib/test.h"

#include "elf/elffile.h"
#include "lib/shell.h"
#include "elf/insn.h"
#include "elf/code.h"
#include "elf/section.h"

struct encoding {
	const char *bytes; /* hexadecimal; exactly one instruction */
	enum insn_kind kind;
	int64_t imm;
	uint8_t fp;
};

static size_t from_hex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;

	for (; hex[0]; hex += 2)
		bytes[n++] = (uint8_t)strtoul((char[]){ hex[0], hex[1], 0 }, NULL, 16);
	return n;
}

static const struct encoding stack_operations[] = {
	{ "50", INSN_PUSH, 0, 0 },
	{ "55", INSN_PUSH, 0, 1 },
	{ "4155", INSN_PUSH, 0, 0 }, /* r13 */
	{ "54", INSN_PUSH, 0, 0 },
	{ "6655", INSN_LOSE_SP, 0, 1 }, /* two bytes */
	{ "6a05", INSN_PUSH, 0, 0 },
	{ "6811223344", INSN_PUSH, 0, 0 },
	{ "ff7508", INSN_PUSH, 0, 0 }, /* memory */
	{ "ff3424", INSN_PUSH, 0, 0 },
	{ "ff3511223344", INSN_PUSH, 0, 0 },
	{ "9c", INSN_PUSH, 0, 0 },
	{ "0fa0", INSN_PUSH, 0, 0 },
	{ "0fa8", INSN_PUSH, 0, 0 },
	{ "58", INSN_POP, 0, 0 },
	{ "5d", INSN_POP, 0, 1 },
	{ "415d", INSN_POP, 0, 0 },
	{ "5c", INSN_LOSE_SP, 0, 0 },
	{ "415c", INSN_POP, 0, 0 }, /* r12 */
	{ "8f4508", INSN_POP, 0, 0 },
	{ "9d", INSN_POP, 0, 0 },
	{ "0fa1", INSN_POP, 0, 0 },
	{ "4883ec18", INSN_MOVE_SP, -0x18, 0 },
	{ "4883ec80", INSN_MOVE_SP, 128, 0 },
	{ "4881ec00010000", INSN_MOVE_SP, -256, 0 },
	{ "4883c408", INSN_MOVE_SP, 8, 0 },
	{ "4881c400010000", INSN_MOVE_SP, 256, 0 },
	{ "488d6424f8", INSN_MOVE_SP, -8, 0 },
	{ "488da42400010000", INSN_MOVE_SP, 256, 0 },
	{ "4883e4f0", INSN_LOSE_SP, 0, 0 },
	{ "83ec18", INSN_LOSE_SP, 0, 0 },   /* esp */
	{ "4983ec18", INSN_OTHER, 0, 0 },   /* r12 */
	{ "4883fc18", INSN_OTHER, 0, 0 },   /* cmp */
	{ "48832c2418", INSN_OTHER, 0, 0 }, /* memory at rsp */
	{ "4829c4", INSN_LOSE_SP, 0, 0 },   /* sub %rax,%rsp */
	{ "4901dc", INSN_OTHER, 0, 0 },	    /* add %rbx,%r12 */
	{ "4839c4", INSN_OTHER, 0, 0 },	    /* cmp %rax,%rsp */
	{ "488d642500", INSN_SP_FROM_FP, 0, 0 },
	{ "488d65d8", INSN_SP_FROM_FP, -0x28, 0 },
	{ "4889ec", INSN_SP_FROM_FP, 0, 0 },
	{ "488be5", INSN_SP_FROM_FP, 0, 0 },
	{ "4889e5", INSN_FP_FROM_SP, 0, 0 },
	{ "488bec", INSN_FP_FROM_SP, 0, 0 },
	{ "488d6c2410", INSN_FP_FROM_SP, 16, 0 },
	{ "4889c4", INSN_LOSE_SP, 0, 0 },
	{ "4c89e4", INSN_LOSE_SP, 0, 0 },
	{ "4989e4", INSN_OTHER, 0, 0 }, /* mov %rsp,%r12 */
	{ "89e5", INSN_LOSE_FP, 0, 0 }, /* mov %esp,%ebp */
	{ "48896c2408", INSN_SAVE_FP, 8, 0 },
	{ "48892c24", INSN_SAVE_FP, 0, 0 },
	{ "4889ac24f8feffff", INSN_SAVE_FP, -264, 0 },
	{ "488b6c2408", INSN_LOAD_FP, 8, 0 },
	{ "4c896c2408", INSN_OTHER, 0, 0 }, /* r13 */
	{ "48896c0c08", INSN_OTHER, 0, 0 }, /* an index */
	{ "31ed", INSN_CLEAR_FP, 0, 0 },
	{ "4831ed", INSN_CLEAR_FP, 0, 0 },
	{ "33ed", INSN_CLEAR_FP, 0, 0 },
	{ "29ed", INSN_CLEAR_FP, 0, 0 },
	{ "31c5", INSN_LOSE_FP, 0, 0 },
	{ "4531ed", INSN_OTHER, 0, 0 }, /* r13 */
	{ "bd01000000", INSN_LOSE_FP, 0, 0 },
	{ "41bd01000000", INSN_OTHER, 0, 0 },
	{ "488b2f", INSN_LOSE_FP, 0, 0 },
	{ "4863ef", INSN_LOSE_FP, 0, 0 },
	{ "0fb6ef", INSN_LOSE_FP, 0, 0 },
	{ "480f44e8", INSN_LOSE_FP, 0, 0 },
	{ "4895", INSN_LOSE_FP, 0, 0 }, /* xchg %rax,%rbp */
	{ "4994", INSN_OTHER, 0, 0 },
	{ "4894", INSN_LOSE_SP, 0, 0 },
	{ "480fcd", INSN_LOSE_FP, 0, 0 }, /* bswap */
	{ "490fcd", INSN_OTHER, 0, 0 },
	{ "f3480fb8ef", INSN_LOSE_FP, 0, 0 }, /* popcnt */
	{ "48f7dd", INSN_LOSE_FP, 0, 0 },     /* neg */
	{ "48f7d5", INSN_LOSE_FP, 0, 0 },     /* not */
	{ "48f7e5", INSN_OTHER, 0, 0 },	      /* mul */
	{ "f7c511223344", INSN_OTHER, 0, 0 }, /* test */
	{ "c9", INSN_LEAVE, 0, 0 },
	{ "c8100000", INSN_LOSE_SP, 0, 0 },
};

static const struct encoding branches[] = {
	{ "7405", INSN_BRANCH, 5, 0 },
	{ "75fe", INSN_BRANCH, -2, 0 },
	{ "0f8411223344", INSN_BRANCH, 0x44332211, 0 },
	{ "0f85feffffff", INSN_BRANCH, -2, 0 },
	{ "3e7405", INSN_BRANCH, 5, 0 },
	{ "e305", INSN_BRANCH, 5, 0 },
	{ "e2fe", INSN_BRANCH, -2, 0 },
	{ "eb10", INSN_JUMP, 16, 0 },
	{ "e9f0ffffff", INSN_JUMP, -16, 0 },
	{ "ffe0", INSN_JUMP_ANY, 0, 0 },
	{ "41ffe3", INSN_JUMP_ANY, 0, 0 },
	{ "3effe0", INSN_JUMP_ANY, 0, 0 },
	{ "ff24c500000000", INSN_JUMP_ANY, 0, 0 },
	{ "ff2511223344", INSN_JUMP_ANY, 0, 0 },
	{ "e811000000", INSN_CALL, 17, 0 },
	{ "67e811000000", INSN_CALL, 17, 0 },
	{ "ffd0", INSN_CALL, 0, 0 },
	{ "ff1511223344", INSN_CALL, 0, 0 },
	{ "c3", INSN_RETURN, 0, 0 },
	{ "f3c3", INSN_RETURN, 0, 0 },
	{ "f2c3", INSN_RETURN, 0, 0 },
	{ "c20800", INSN_RETURN, 0, 0 },
	{ "f4", INSN_STOP, 0, 0 },
	{ "0f0b", INSN_STOP, 0, 0 },
	{ "cc", INSN_NOP, 0, 0 },
	{ "90", INSN_NOP, 0, 0 },
	{ "6690", INSN_NOP, 0, 0 },
	{ "0f1f00", INSN_NOP, 0, 0 },
	{ "0f1f4000", INSN_NOP, 0, 0 },
	{ "0f1f440000", INSN_NOP, 0, 0 },
	{ "660f1f440000", INSN_NOP, 0, 0 },
	{ "0f1f8000000000", INSN_NOP, 0, 0 },
	{ "0f1f840000000000", INSN_NOP, 0, 0 },
	{ "660f1f840000000000", INSN_NOP, 0, 0 },
	{ "66662e0f1f840000000000", INSN_NOP, 0, 0 },
	{ "6666666666662e0f1f840000000000", INSN_NOP, 0, 0 },
	{ "4190", INSN_OTHER, 0, 0 }, /* xchg %eax,%r8d */
	{ "f30f1efa", INSN_OTHER, 0, 0 },
};

static const struct encoding others[] = {
	{ "8fe878c0ec0e", INSN_OTHER, 0, 0 }, /* XOP: an imm8 */
	{ "8fe97880e9", INSN_OTHER, 0, 0 },
	{ "8fea7810c011223344", INSN_OTHER, 0, 0 },
	{ "c5f877", INSN_OTHER, 0, 0 },		/* vzeroupper */
	{ "c5f9efc0", INSN_OTHER, 0, 0 },	/* VEX of two bytes */
	{ "c5f970c01b", INSN_OTHER, 0, 0 },	/* and an imm8 */
	{ "c4e27d58c0", INSN_OTHER, 0, 0 },	/* 0f 38 */
	{ "c4e37d39c001", INSN_OTHER, 0, 0 },	/* 0f 3a: imm8 */
	{ "c4e2fbf6c3", INSN_OTHER, 0, 0 },	/* mulx */
	{ "62f17c48100424", INSN_OTHER, 0, 0 }, /* EVEX */
	{ "62f37d48390c2401", INSN_OTHER, 0, 0 },
	{ "62f3fd48394c240101", INSN_OTHER, 0, 0 },
	{ "660f70c01b", INSN_OTHER, 0, 0 },
	{ "0fc6c01b", INSN_OTHER, 0, 0 },
	{ "660f73d808", INSN_OTHER, 0, 0 },
	{ "660f3a0fc108", INSN_OTHER, 0, 0 },
	{ "660f3800c1", INSN_OTHER, 0, 0 },
	{ "0fa4d008", INSN_OTHER, 0, 0 },
	{ "480fbae005", INSN_OTHER, 0, 0 },
	{ "48b81122334455667788", INSN_SET_EAX, -0x778899aabbccddef, 0 },
	{ "b83c000000", INSN_SET_EAX, 60, 0 },
	{ "48c7c03c000000", INSN_SET_EAX, 60, 0 },
	{ "c4e2d3f6e8", INSN_LOSE_FP, 0, 0 }, /* mulx %rax,%rbp,%rbp */
	{ "c462d3f6e8", INSN_LOSE_FP, 0, 0 }, /* mulx %rax,%rbp,%r13 */
	{ "c462fbf6e8", INSN_OTHER, 0, 0 },   /* mulx %rax,%rax,%r13 */
	{ "48a11122334455667788", INSN_OTHER, 0, 0 },
	{ "a811", INSN_OTHER, 0, 0 },
	{ "a911223344", INSN_OTHER, 0, 0 },
	{ "66a91122", INSN_OTHER, 0, 0 },
	{ "f6c311", INSN_OTHER, 0, 0 }, /* test */
	{ "f6d3", INSN_OTHER, 0, 0 },	/* not */
	{ "f7c311223344", INSN_OTHER, 0, 0 },
	{ "66f7c31122", INSN_OTHER, 0, 0 },
	{ "48f7c311223344", INSN_OTHER, 0, 0 },
	{ "48f7e3", INSN_OTHER, 0, 0 },
	{ "6681c31122", INSN_OTHER, 0, 0 },
	{ "66b81122", INSN_SET_EAX, 0x2211, 0 },
	{ "66c7001122", INSN_OTHER, 0, 0 },
	{ "48c70000000000", INSN_OTHER, 0, 0 },
	{ "69c011223344", INSN_OTHER, 0, 0 },
	{ "6bc011", INSN_OTHER, 0, 0 },
	{ "488b0511223344", INSN_OTHER, 0, 0 },
	{ "488b042511223344", INSN_OTHER, 0, 0 },
	{ "0f05", INSN_SYSCALL, 0, 0 },
	{ "0fa2", INSN_OTHER, 0, 0 },
	{ "0fc8", INSN_OTHER, 0, 0 },
	{ "f348ab", INSN_OTHER, 0, 0 },
};

static void check_encoding(const struct encoding *e)
{
	uint8_t bytes[INSN_SZ_MAX + 1];
	size_t sz = from_hex(e->bytes, bytes);
	struct insn i;

	if (insn__decode(&i, bytes, sz) != sz || i.sz != sz || i.kind != e->kind || i.fp != e->fp ||
	    (e->imm && i.imm != e->imm))
		fail_msg("%s: length %u, kind %d, imm %lld, fp %u", e->bytes, i.sz, i.kind,
			 (long long)i.imm, i.fp);
	for (size_t n = 0; n < sz; n++)
		if (insn__decode(&i, bytes, n) != 0)
			fail_msg("%s: %zu bytes of it are an instruction", e->bytes, n);
}

static void checks_stack_operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stack_operations) / sizeof(*stack_operations); i++)
		check_encoding(&stack_operations[i]);
}

static void checks_branches_and_padding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++)
		check_encoding(&branches[i]);
}

static void checks_lengths_of_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		check_encoding(&others[i]);
}

static void rejects_invalid_opcodes(void **state)
{
	static const char *const invalid[] = { "06", "0e", "27", "37",	 "60",	"9a",
					       "ce", "d6", "ea", "0f04", "0f0a" };
	struct insn i;

	(void)state;
	for (size_t n = 0; n < sizeof(invalid) / sizeof(*invalid); n++) {
		uint8_t bytes[16] = { 0 };

		from_hex(invalid[n], bytes);
		if (insn__decode(&i, bytes, sizeof(bytes)) != 0)
			fail_msg("%s is an instruction", invalid[n]);
	}
	assert_int_equal(insn__decode(&i, (const uint8_t *)"fffffffffffffff\x90", 16), 0);
}

static void takes_zeros_behind_an_end_as_padding(void **state)
{
	static const uint8_t zeros[] = { 0, 0, 0x55 };
	struct insn i;

	(void)state;
	assert_int_equal(insn__decode_after_end(&i, zeros, sizeof(zeros)), 1);
	assert_int_equal(i.kind, INSN_NOP);
	assert_int_equal(insn__decode_after_end(&i, zeros + 2, 1), 1);
	assert_int_equal(i.kind, INSN_PUSH);
	assert_int_equal(insn__decode_after_end(&i, zeros, 0), 0);
	assert_int_equal(insn__decode(&i, zeros, sizeof(zeros)), 2);
}

/* ---- objdump ---- */

struct section {
	uint8_t *bytes;
	uint64_t vaddr, sz;
};

static struct section text_of(const char *path)
{
	struct elf_file *f = elf_file__open(path);
	struct section s = { 0 };
	GElf_Shdr shdr;
	size_t sz;

	if (f && section__named(f, ".text", &shdr))
		s = (struct section){ section__read(f, &shdr, &sz), shdr.sh_addr, shdr.sh_size };
	elf_file__put(f);
	return s;
}

/* One instruction according to objdump. */
struct judged {
	uint64_t vaddr;
	bool bad; /* invalid according to objdump, or a prefix alone: data */
	char line[128];
};

/* objdump prints "  ADDRESS:\tINSTRUCTION". */
static bool parse_judged(struct judged *j, const char *line)
{
	char *past;

	j->vaddr = strtoull(line, &past, 16);
	if (past == line || past[0] != ':' || past[1] != '\t')
		return false;
	j->bad = strstr(past, "(bad)") || strncmp(past + 2, "rex.", 4) == 0;
	snprintf(j->line, sizeof(j->line), "%s", line);
	return true;
}

/* Returns whether the length is objdump's. */
static bool agrees(const struct section *s, const struct judged *j, uint64_t next)
{
	struct insn i;

	return j->vaddr - s->vaddr < s->sz &&
	       insn__decode(&i, s->bytes + (j->vaddr - s->vaddr), s->vaddr + s->sz - j->vaddr) ==
		       next - j->vaddr;
}

/* Decodes from every start of objdump's to the next one: data among code, as in libcrypto, would
 * set two linear decoders apart for some instructions. Prints the first differences. */
static void compare(const char *path, const struct section *s)
{
	struct judged last = { .bad = true }, now;
	size_t all = 0, wrong = 0, len = 0;
	char *line = NULL, command[512];
	FILE *p;

	snprintf(command, sizeof(command), "LC_ALL=C objdump -d -w --no-show-raw-insn -j .text %s",
		 path);
	p = popen(command, "r");
	assert_non_null(p);
	while (getline(&line, &len, p) > 0) {
		if (!parse_judged(&now, line))
			continue;
		if (!last.bad && !now.bad) {
			all++;
			if (!agrees(s, &last, now.vaddr) && wrong++ < 10)
				print_message("%s: differs: %s", path, last.line);
		}
		last = now;
	}
	free(line);
	pclose(p);
	print_message("%s: %zu instructions, %zu differ\n", path, all, wrong);
	assert_true(all > 1000);
	assert_true(wrong * 1000 <= all);
}

static void agrees_with_objdump(void **state)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					     "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
					     "/usr/lib/x86_64-linux-gnu/libgmp.so.10",
					     "/usr/bin/python3" };
	size_t compared = 0;

	(void)state;
	if (!shell__has("objdump"))
		skip_because("there is no objdump");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i += EVERY_NTH_SANITIZED(4)) {
		struct section s = text_of(paths[i]);

		if (!s.bytes)
			continue;
		compare(paths[i], &s);
		compared++;
		free(s.bytes);
	}
	if (!compared)
		skip_because("there is no file to compare");
}

RUN_TESTS(cmocka_unit_test(checks_stack_operations), cmocka_unit_test(checks_branches_and_padding),
	  cmocka_unit_test(checks_lengths_of_others), cmocka_unit_test(rejects_invalid_opcodes),
	  cmocka_unit_test(takes_zeros_behind_an_end_as_padding),
	  cmocka_unit_test(agrees_with_objdump))
