// SPDX-License-Identifier: GPL-2.0-or-later
/* Handwritten, assembled CFI, in every place where a file may have it. */
#include "elf/section.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/shell.h"
#include "cfi/libdwrules.h"
#include "cfi/libdwimage.h"

#define STACK_ADDR  0x7ffd00001000
#define FUNCTION(n) (0x10000u + 0x100 * (n))

/* Functions 256 bytes apart, from 0x10000 on. CFI that gas has no name for is written as bytes. */
static const char source[] =
	".macro function\n .p2align 8\n.endm\n.text\n"
	/* 0: a frame pointer, an epilogue, and the previous state again */
	"function\n.cfi_startproc\n push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\n"
	" mov %rsp,%rbp\n.cfi_def_cfa_register %rbp\n push %rbx\n.cfi_offset %rbx,-24\n nop\n"
	".cfi_remember_state\n pop %rbx\n leave\n.cfi_def_cfa %rsp,8\n ret\n"
	".cfi_restore_state\n nop\n nop\n.cfi_endproc\n"
	/* 1: the first function of a thread */
	"function\n.cfi_startproc\n.cfi_undefined %rip\n nop\n nop\n.cfi_endproc\n"
	/* 2: a trampoline: CFA = *(rsp + 160), rip at rsp + 168, rbx at rsp + 128 */
	"function\n.cfi_startproc\n.cfi_signal_frame\n.cfi_escape 0x0f,4,0x77,0xa0,1,6\n"
	".cfi_escape 0x10,16,3,0x77,0xa8,1\n.cfi_escape 0x10,3,3,0x77,0x80,1\n nop\n.cfi_endproc\n"
	/* 3: vfork: the return address is in rdi, not on the stack */
	"function\n.cfi_startproc\n nop\n.cfi_def_cfa_offset 0\n.cfi_register %rip,%rdi\n nop\n"
	".cfi_endproc\n"
	/* 4: a PLT: rsp + 8 + ((rip & 15) >= 11) * 8 */
	"function\n.cfi_startproc\n.cfi_escape "
	"0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22\n .skip 16,0x90\n.cfi_endproc\n"
	/* 5: a realigned stack: CFA = *(rbp - 8) */
	"function\n.cfi_startproc\n.cfi_escape 0x0f,3,0x76,0x78,6\n.cfi_offset %rip,-8\n nop\n"
	".cfi_endproc\n"
	/* 6: rbx is CFA + 32, r12 is rax + 3, r13 is undefined, CFA = rbx + 16 */
	"function\n.cfi_startproc\n.cfi_def_cfa %rbx,16\n.cfi_val_offset %rbx,32\n"
	".cfi_escape 0x16,12,2,0x70,3\n.cfi_undefined %r13\n nop\n.cfi_endproc\n"
	/* 7: no CFI; 8: no CFI, but its code is a trampoline's */
	"function\n nop\nfunction\n mov $15,%rax\n syscall\n"
	/* 9: more than 32 bits; 10 … 12: impossible: an address in an expression, no return
	 * address, another return column */
	"function\n.cfi_startproc\n.cfi_def_cfa_offset 0x180000000\n nop\n.cfi_endproc\n"
	"function\n.cfi_startproc\n.cfi_escape 0x0f,9,3,0,0,0,0,0,0,0,0\n nop\n.cfi_endproc\n"
	"function\n.cfi_startproc\n.cfi_same_value %rip\n nop\n.cfi_endproc\n"
	"function\n.cfi_startproc\n.cfi_return_column 5\n nop\n.cfi_endproc\n"
	"function\n";
#define FUNCTION_CNT 13

static char *build(const char *dir, const char *name, const char *head)
{
	char path[256], *lib;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s%s", head, source);
	fclose(f);
	assert_true(asprintf(&lib, "%s/%s.so", dir, name) > 0);
	shell__run("gcc -shared -nostdlib -Wl,--build-id,-Ttext=0x10000 -o %s %s 2>&1", lib, path);
	return lib;
}

static struct elf_file *open_lib(char *path)
{
	struct elf_file *f = elf_file__open(path);

	free(path);
	assert_non_null(f);
	return f;
}

static const struct full_rule *rule_at(struct elf_file *f, uint64_t pc)
{
	struct libdw_rules *cfi = libdw_rules__of(f, NULL);

	assert_non_null(cfi);
	return libdw_rules__rule(cfi, pc, false);
}

/* ---- effects of the rules ---- */

struct applied {
	int err;
	uint64_t cfa;
	struct regs regs;
};

/* Register n is n * 0x1000000, except rsp and rbp, which point to the stack; word n of the stack is
 * n. */
static struct applied apply(struct elf_file *f, uint64_t pc)
{
	static uint64_t stack[64];
	struct snapshot snapshot = { .addr = STACK_ADDR,
				     .sz = sizeof(stack),
				     .bytes = (const uint8_t *)stack };
	struct applied a = { .regs.machine = &machine_x86_64,
			     .regs.valid = (1ull << machine_x86_64.reg_cnt) - 1 };
	const struct full_rule *rule = rule_at(f, pc);

	for (size_t i = 0; i < 64; i++)
		stack[i] = i;
	stack[20] = STACK_ADDR + 400; /* where the trampoline has rsp */
	stack[31] = STACK_ADDR + 320; /* where the realigned frame has its CFA */
	for (size_t i = 0; i < machine_x86_64.reg_cnt; i++)
		a.regs.v[i] = i * 0x1000000;
	a.regs.v[DWARF_RSP] = STACK_ADDR;
	a.regs.v[DWARF_RBP] = STACK_ADDR + 256;
	a.regs.v[DWARF_RIP] = pc;
	assert_non_null(rule);
	a.err = full_rule__apply(rule, &snapshot, &a.regs, &a.cfa);
	return a;
}

#define CHECK_REG(a, reg, expected)                                      \
	do {                                                             \
		assert_true(regs__has(&(a).regs, reg));                  \
		assert_int_equal((a).regs.v[reg], (uint64_t)(expected)); \
	} while (0)

static void registers_come_from_where_rules_say(void **state)
{
	struct elf_file *f = open_lib(build(*state, "plain", ""));
	struct applied a = apply(f, FUNCTION(0)); /* on entry */

	assert_int_equal(a.err, 0);
	assert_int_equal(a.cfa, STACK_ADDR + 8);
	CHECK_REG(a, DWARF_RIP, 0);
	CHECK_REG(a, DWARF_RSP, STACK_ADDR + 8);
	CHECK_REG(a, DWARF_RBP, STACK_ADDR + 256);
	CHECK_REG(a, DWARF_RBX, 0x3000000);
	CHECK_REG(a, 12, 12 * 0x1000000);
	assert_false(regs__has(&a.regs, 1)); /* rdx: clobbered by calls */
	a = apply(f, FUNCTION(0) + 5);	     /* after push %rbx */
	assert_int_equal(a.cfa, STACK_ADDR + 256 + 16);
	CHECK_REG(a, DWARF_RIP, 33);
	CHECK_REG(a, DWARF_RBP, 32);
	CHECK_REG(a, DWARF_RBX, STACK_ADDR + 320);
	a = apply(f, FUNCTION(0) + 8); /* ret */
	assert_int_equal(a.cfa, STACK_ADDR + 8);
	a = apply(f, FUNCTION(0) + 10); /* after it: as before the epilogue */
	assert_int_equal(a.cfa, STACK_ADDR + 256 + 16);
	assert_int_equal(apply(f, FUNCTION(0) + 8).cfa,
			 STACK_ADDR + 8); /* and after the ret as before */
	elf_file__put(f);
}

static void rare_rules_are_applied(void **state)
{
	struct elf_file *f = open_lib(build(*state, "rare", ""));
	struct applied a = apply(f, FUNCTION(3) + 1); /* vfork */

	assert_int_equal(a.cfa, STACK_ADDR);
	CHECK_REG(a, DWARF_RIP, 0x5000000);
	assert_int_equal(apply(f, FUNCTION(4) + 10).cfa, STACK_ADDR + 8);
	assert_int_equal(apply(f, FUNCTION(4) + 11).cfa, STACK_ADDR + 16);
	a = apply(f, FUNCTION(5));
	assert_int_equal(a.cfa, STACK_ADDR + 320);
	CHECK_REG(a, DWARF_RIP, 39);
	a = apply(f, FUNCTION(6));
	assert_int_equal(a.cfa, 0x3000010);
	assert_int_equal(a.err, -EFAULT); /* the return address, not rbx or r12 */
	a = apply(f, FUNCTION(9));
	assert_int_equal(a.cfa, STACK_ADDR + 0x180000000);
	assert_int_equal(a.err, -EFAULT);
	elf_file__put(f);
}

static void roots_and_signals_are_marked(void **state)
{
	struct elf_file *f = open_lib(build(*state, "marks", ""));
	struct applied a = apply(f, FUNCTION(2));

	assert_int_equal(rule_at(f, FUNCTION(1))->flags, RULE_ROOT);
	assert_int_equal(rule_at(f, FUNCTION(2))->flags, RULE_SIGNAL);
	assert_int_equal(a.cfa, STACK_ADDR + 400);
	CHECK_REG(a, DWARF_RSP, STACK_ADDR + 400);
	CHECK_REG(a, DWARF_RIP, 21);
	CHECK_REG(a, DWARF_RBX, 16);
	a = apply(f, FUNCTION(8)); /* no CFI, recognized by its code: struct ucontext */
	assert_int_equal(rule_at(f, FUNCTION(8))->flags, RULE_SIGNAL);
	CHECK_REG(a, DWARF_RSP, STACK_ADDR + 400);
	CHECK_REG(a, DWARF_RIP, 21);
	CHECK_REG(a, DWARF_RBX, 16);
	CHECK_REG(a, 8, 5);
	CHECK_REG(a, 2, 19);
	elf_file__put(f);
}

static void impossible_rules_are_refused(void **state)
{
	struct elf_file *f = open_lib(build(*state, "no", ""));

	assert_null(rule_at(f, FUNCTION(7)));
	for (unsigned n = 10; n < 13; n++)
		assert_null(rule_at(f, FUNCTION(n)));
	assert_null(rule_at(f, 0));
	assert_null(rule_at(f, 0x100));
	assert_null(rule_at(f, FUNCTION(60)));
	assert_null(rule_at(f, 1ull << 47));
	assert_null(rule_at(f, UINT64_MAX));
	assert_null(libdw_rules__rule(libdw_rules__of(f, NULL), 0, true));
	/* a return address belongs to the function of the previous instruction */
	assert_non_null(libdw_rules__rule(libdw_rules__of(f, NULL), FUNCTION(1) + 2, true));
	assert_null(libdw_rules__rule(libdw_rules__of(f, NULL), FUNCTION(1) + 2, false));
	elf_file__put(f);
}

/* ---- places of CFI ---- */

static void check_same_rules(struct elf_file *expected, struct elf_file *f)
{
	for (uint64_t pc = FUNCTION(0); pc < FUNCTION(FUNCTION_CNT); pc++) {
		const struct full_rule *a = rule_at(expected, pc), *b = rule_at(f, pc);

		assert_int_equal(a == NULL, b == NULL);
		if (a && (a->sz != b->sz || memcmp(a, b, a->sz) != 0))
			fail_msg("another rule at %lx", (unsigned long)pc);
	}
	elf_file__put(f);
}

static void debug_frame_is_used(void **state)
{
	struct elf_file *plain = open_lib(build(*state, "eh", ""));
	char *lib = build(*state, "df", ".cfi_sections .debug_frame\n");

	shell__run("cd %s && for how in none zlib zlib-gnu; do "
		   "objcopy --compress-debug-sections=$how %s $how.so; done && "
		   "readelf -SW zlib-gnu.so | grep -q .zdebug_frame && "
		   "readelf -SW zlib.so | grep -q '.debug_frame.*C'",
		   (char *)*state, lib);
	check_same_rules(plain, open_lib(shell__output("printf %%s %s/none.so", (char *)*state)));
	check_same_rules(plain, open_lib(shell__output("printf %%s %s/zlib.so", (char *)*state)));
	check_same_rules(plain,
			 open_lib(shell__output("printf %%s %s/zlib-gnu.so", (char *)*state)));
	free(lib);
	elf_file__put(plain);
}

static void separate_debug_frame_is_used(void **state)
{
	struct elf_file *plain = open_lib(build(*state, "eh", ""));
	char *lib = build(*state, "sep", ".cfi_sections .debug_frame\n");

	shell__run("cd %s && cp %s full && strip -g %s && cp sep.so mini.so && "
		   "objcopy --only-keep-debug full sep.debug && "
		   "objcopy --add-gnu-debuglink=sep.debug sep.so && "
		   "xz full && objcopy --add-section .gnu_debugdata=full.xz mini.so",
		   (char *)*state, lib, lib);
	check_same_rules(plain, open_lib(lib));
	check_same_rules(plain, open_lib(shell__output("printf %%s %s/mini.so", (char *)*state)));
	elf_file__put(plain);
}

/* The file's own call-frame information is not even read. */
static void separate_rules_complete_a_files_own(void **state)
{
	struct elf_file *own = open_lib(build(*state, "eh", "")), *separate;
	char *lib = build(*state, "sep", ".cfi_sections .debug_frame\n");
	struct libdw_rules_stats stats;

	shell__run("cd %s && cp %s full && strip -g %s && "
		   "objcopy --only-keep-debug full sep.debug && "
		   "objcopy --add-gnu-debuglink=sep.debug sep.so",
		   (char *)*state, lib, lib);
	separate = open_lib(lib);
	for (uint64_t pc = FUNCTION(0); pc < FUNCTION(1); pc++)
		assert_null(libdw_rules__rule_beside(libdw_rules__of(own, NULL), pc, false));
	libdw_rules__stats(libdw_rules__of(own, NULL), &stats);
	assert_int_equal(stats.rows_compiled, 0);
	assert_non_null(
		libdw_rules__rule_beside(libdw_rules__of(separate, NULL), FUNCTION(0), false));
	assert_non_null(
		libdw_rules__rule_beside(libdw_rules__of(separate, NULL), FUNCTION(0) + 1, true));
	elf_file__put(separate);
	elf_file__put(own);
}

static void section_headers_may_be_missing(void **state)
{
	struct elf_file *plain = open_lib(build(*state, "eh", ""));
	char *lib = build(*state, "seg", "");
	const uint64_t none = 0;
	int fd = open(lib, O_WRONLY);

	assert_int_equal(pwrite(fd, &none, 8, offsetof(Elf64_Ehdr, e_shoff)), 8);
	assert_int_equal(pwrite(fd, &none, 4, offsetof(Elf64_Ehdr, e_shnum)), 4);
	close(fd);
	check_same_rules(plain, open_lib(lib));
	elf_file__put(plain);
}

static void files_in_memory_have_rules(void **state)
{
	struct elf_file *plain = open_lib(build(*state, "eh", ""));
	struct stat st;
	void *image;

	fstat(plain->fd, &st);
	image = malloc((size_t)st.st_size);
	assert_int_equal(pread(plain->fd, image, (size_t)st.st_size, 0), st.st_size);
	check_same_rules(plain, elf_file__from_memory(image, (size_t)st.st_size, "[vdso]"));
	elf_file__put(plain);
}

/* ---- untrusted files ---- */

static void files_of_others_have_the_same_rules(void **state)
{
	struct elf_file *plain = open_lib(build(*state, "eh", ""));
	struct elf_file *eh = open_lib(build(*state, "eh", ""));
	struct elf_file *df = open_lib(build(*state, "df", ".cfi_sections .debug_frame\n"));

	eh->trusted = df->trusted = false;
	check_same_rules(plain, eh);
	check_same_rules(plain, df);
	elf_file__put(plain);
}

/* CFI that would cost libdw memory: the file has no rules at all. */
static void no_rules_from_forgers(void **state)
{
	static const char *const bombs[] = {
		".cfi_escape 5,0xff,0xff,0xff,0xff,0xf,1\n", /* register 2^32 - 1 */
		".rept 40\n.cfi_remember_state\n.endr\n",    /* states */
		".cfi_escape 0xf,0x81,0x10\n.rept 2049\n.cfi_escape 0x30\n.endr\n", /* a long
										       expression */
		".rept 150000\n.cfi_def_cfa_offset 8\n.endr\n",			    /* a long FDE */
		".cfi_escape 0x2d\n",	     /* of another machine */
		".cfi_escape 0x10,3,0x7f\n", /* ends past the entry */
	};
	char head[256];

	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		struct elf_file *f;

		snprintf(head, sizeof(head), ".cfi_startproc\n%s nop\n.cfi_endproc\n", bombs[i]);
		f = open_lib(build(*state, "bomb", head));
		f->trusted = false;
		/* all are one further; the trampoline needs no CFI */
		for (unsigned n = 0; n <= FUNCTION_CNT; n++)
			if (n != 9 && rule_at(f, FUNCTION(n)))
				fail_msg("bomb %zu: a rule for function %u", i, n);
		elf_file__put(f);
	}
}

/* Data packed into a file is trusted like the file. */
static void no_rules_from_forgers_debug_data(void **state)
{
	char *lib = build(*state, "packed",
			  ".cfi_sections .debug_frame\n.cfi_startproc\n"
			  ".cfi_escape 5,0xff,0xff,0xff,0xff,0xf,1\n nop\n.cfi_endproc\n");
	struct elf_file *f;

	shell__run("cd %s && cp %s full && strip -g %s && xz full && "
		   "objcopy --add-section .gnu_debugdata=full.xz %s",
		   (char *)*state, lib, lib, lib);
	f = open_lib(lib);
	f->trusted = false;
	assert_null(rule_at(f, FUNCTION(1)));
	elf_file__put(f);
}

/* ---- the cache ---- */

/* Every pc of the dynamic linker in random order: the cached rules are libdw's. */
static void tables_equal_libdw(void **state)
{
	static const char path[] = "/lib64/ld-linux-x86-64.so.2";
	struct elf_file *f = elf_file__open(path);
	struct libdw_image fresh;
	uint64_t pc = 1, found = 0;
	GElf_Shdr text;

	(void)state;
	assert_true(section__named(f, ".text", &text));
	assert_int_equal(libdw_image__make(&fresh, f, f), 0);
	for (int i = 0; i < 60000; i++) {
		uint64_t vaddr = text.sh_addr + pc % text.sh_size;
		Dwarf_Frame *frame = libdw_image__frame(&fresh, vaddr);
		const struct full_rule *rule = rule_at(f, vaddr);
		union rule_room room;
		bool usable = frame && full_rule__compile(frame, &machine_x86_64, &room) == 0;

		pc = pc * 6364136223846793005u + 1442695040888963407u;
		free(frame);
		assert_int_equal(rule != NULL, usable);
		if (rule && (rule->sz != room.rule.sz || memcmp(rule, &room, rule->sz) != 0))
			fail_msg("another rule at %lx", (unsigned long)vaddr);
		found += usable;
	}
	assert_true(found > 50000);
	libdw_image__free(&fresh);
	elf_file__put(f);
}

/* More rows than are kept: 600 functions of 32 rows, each with another CFA. */
static void tables_are_bounded(void **state)
{
	char path[256];
	struct libdw_rules_stats stats;
	struct elf_file *f;
	FILE *out;

	snprintf(path, sizeof(path), "%s/many.s", (char *)*state);
	out = fopen(path, "w");
	for (int i = 0; i < 600; i++) {
		fprintf(out, ".p2align 8\n.cfi_startproc\n");
		for (int j = 0; j < 32; j++)
			fprintf(out, ".cfi_def_cfa_offset %d\n.skip 4,0x90\n", (i * 32 + j) * 8);
		fprintf(out, ".cfi_endproc\n");
	}
	fclose(out);
	shell__run("gcc -shared -nostdlib -Wl,-Ttext=0x10000 -o %s/many.so %s 2>&1", (char *)*state,
		   path);
	f = open_lib(shell__output("printf %%s %s/many.so", (char *)*state));
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 600 * 128; i++) {
			const struct full_rule *r =
				rule_at(f, FUNCTION(i / 128) + (uint64_t)i % 128);

			assert_int_equal(r->cfa.off, i / 4 * 8);
		}
	libdw_rules__stats(libdw_rules__of(f, NULL), &stats);
	assert_true(stats.flushes > 2);
	assert_true(stats.bytes < 2 << 20);
	elf_file__put(f);
}

/* Forged files: any byte of the tables may have any value. There is always an answer. */
static void forged_tables_have_an_answer(void **state)
{
	char *lib = build(*state, "forged", ""), *copy;
	struct elf_file *f = elf_file__open(lib);
	GElf_Shdr frames, hdr;
	uint64_t seed = 7;

	assert_true(section__named(f, ".eh_frame", &frames));
	assert_true(section__named(f, ".eh_frame_hdr", &hdr));
	elf_file__put(f);
	assert_true(asprintf(&copy, "%s.forged", lib) > 0);
	shell__run("cp %s %s", lib, copy);
	for (int i = 0; i < 1500; i++) {
		int fd = open(copy, O_RDWR);
		GElf_Shdr *s = i % 8 ? &frames : &hdr;
		uint8_t was, is;
		off_t at;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		at = (off_t)(s->sh_offset + (seed >> 33) % s->sh_size);
		is = (uint8_t)(seed >> 20);
		assert_int_equal(pread(fd, &was, 1, at), 1);
		assert_int_equal(pwrite(fd, &is, 1, at), 1);
		f = elf_file__open(copy);
		f->trusted = false;
		for (uint64_t pc = FUNCTION(0); pc < FUNCTION(FUNCTION_CNT); pc += i % 16 + 1)
			if (rule_at(f, pc) && !(rule_at(f, pc)->flags & (RULE_ROOT | RULE_SWITCH)))
				apply(f, pc);
		elf_file__put(f);
		if (i % 20) /* up to 20 at a time */
			close(fd);
		else
			assert_int_equal(pwrite(fd, &was, 1, at), 1), close(fd);
	}
	free(copy);
	free(lib);
}

RUN_TESTS(test_with_folder(registers_come_from_where_rules_say),
	  test_with_folder(rare_rules_are_applied), test_with_folder(roots_and_signals_are_marked),
	  test_with_folder(impossible_rules_are_refused), test_with_folder(debug_frame_is_used),
	  test_with_folder(separate_debug_frame_is_used),
	  test_with_folder(section_headers_may_be_missing),
	  test_with_folder(files_in_memory_have_rules),
	  test_with_folder(files_of_others_have_the_same_rules),
	  test_with_folder(no_rules_from_forgers),
	  test_with_folder(no_rules_from_forgers_debug_data), cmocka_unit_test(tables_equal_libdw),
	  test_with_folder(tables_are_bounded), test_with_folder(forged_tables_have_an_answer),
	  test_with_folder(separate_rules_complete_a_files_own))
