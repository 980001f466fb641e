// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules of hand-written code between compiled code, in real files. */
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/test.h"

#include "lib/shell.h"
#include "cfi/coderows.h"

#define COMPILED "int %s(int x) { return x * 3 + 1; }\n"

/* Two functions without CFI, 32 bytes apart. */
static const char bare[] =
	".text\n.p2align 4\n.type bare,@function\nbare:\n"
	"push %rbp\nmov %rsp,%rbp\npush %rbx\nsub $24,%rsp\ncall plain\n"
	"lea -8(%rbp),%rsp\npop %rbx\npop %rbp\nret\n"
	".p2align 4\n.type plain,@function\nplain:\n"
	"push %rbx\nsub $16,%rsp\nnop\nadd $16,%rsp\npop %rbx\nret\n.p2align 4\n";

static const struct {
	unsigned off;
	enum packed_how how;
	int cfa, fp;
} table[] = {
	{ 0, PACKED_SP, 1, PACKED_FP_KEPT },
	{ 1, PACKED_SP, 2, -2 },
	{ 4, PACKED_FP, 2, -2 },
	{ 5, PACKED_FP, 2, -2 },
	{ 9, PACKED_FP, 2, -2 },
	{ 14, PACKED_FP, 2, -2 },
	{ 18, PACKED_FP, 2, -2 },
	{ 19, PACKED_FP, 2, -2 },
	{ 20, PACKED_SP, 1, PACKED_FP_KEPT },
	{ 32, PACKED_SP, 1, PACKED_FP_KEPT },
	{ 33, PACKED_SP, 2, PACKED_FP_KEPT },
	{ 37, PACKED_SP, 4, PACKED_FP_KEPT },
	{ 38, PACKED_SP, 4, PACKED_FP_KEPT },
	{ 42, PACKED_SP, 2, PACKED_FP_KEPT },
	{ 43, PACKED_SP, 1, PACKED_FP_KEPT },
};

/* FOLDER/lib.so: compiled, hand-written, and again compiled code. */
static void make_library(const char *folder, const char *code)
{
	char text[256];

	snprintf(text, sizeof(text), COMPILED, "first");
	shell__write(folder, "a.c", text);
	snprintf(text, sizeof(text), COMPILED, "last");
	shell__write(folder, "c.c", text);
	shell__write(folder, "b.s", code);
	shell__run("cd %s && gcc -O2 -fPIC -shared -nostdlib -o lib.so a.c b.s c.c 2>&1", folder);
}

static uint64_t address_of(const char *folder, const char *symbol)
{
	char *text =
		shell__output("nm %s/lib.so | awk '$3 == \"%s\" { print $1 }'", folder, symbol);
	uint64_t address;

	assert_non_null(text);
	address = strtoull(text, NULL, 16);
	free(text);
	assert_true(address != 0);
	return address;
}

static void patch(const char *folder, size_t off, const void *bytes, size_t sz)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/lib.so", folder);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, sz, (off_t)off), sz);
	close(fd);
}

static struct code_rows rows_of(const char *folder)
{
	struct code_rows rows;
	struct elf_file *f;
	char path[512];

	snprintf(path, sizeof(path), "%s/lib.so", folder);
	f = elf_file__open(path);
	assert_non_null(f);
	code_rows__make(&rows, f);
	elf_file__put(f);
	return rows;
}

static void check_table(const struct code_rows *rows, uint64_t start)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct packed_rule *r = code_rows__at(rows, start + table[i].off);

		assert_non_null(r);
		if (r->how != table[i].how || r->cfa != table[i].cfa || r->fp != table[i].fp)
			fail_msg("at %u: how %u, CFA %d, fp %d", table[i].off, r->how, r->cfa,
				 r->fp);
	}
}

static void gives_rules_of_code_between_compiled_code(void **state)
{
	struct code_rows rows;
	uint64_t start, first, last;

	make_library(*state, bare);
	start = address_of(*state, "bare");
	first = address_of(*state, "first");
	last = address_of(*state, "last");
	rows = rows_of(*state);
	check_table(&rows, start);
	assert_null(code_rows__at(&rows, first));
	assert_null(code_rows__at(&rows, last));
	assert_null(code_rows__at(&rows, 0));
	assert_null(code_rows__at(&rows, UINT64_MAX));
	assert_true(code_rows__sz(&rows) >= rows.cnt * sizeof(*rows.rows));
	code_rows__free(&rows);
	assert_int_equal(rows.cnt, 0);
}

static void needs_no_symbols_and_no_section_headers(void **state)
{
	static const uint8_t zeros[8] = { 0 };
	struct code_rows rows;
	uint64_t start;

	make_library(*state, bare);
	start = address_of(*state, "bare");
	shell__run("strip %s/lib.so", (char *)*state);
	rows = rows_of(*state);
	check_table(&rows, start);
	code_rows__free(&rows);
	patch(*state, offsetof(Elf64_Ehdr, e_shoff), zeros, 8);
	patch(*state, offsetof(Elf64_Ehdr, e_shnum), zeros, 4);
	rows = rows_of(*state);
	check_table(&rows, start);
	code_rows__free(&rows);
}

static void has_no_rules_where_there_is_no_gap(void **state)
{
	struct code_rows rows;
	uint64_t first;

	make_library(*state, "");
	first = address_of(*state, "first");
	rows = rows_of(*state);
	for (uint64_t at = first - 64; at < first + 256; at++)
		assert_null(code_rows__at(&rows, at));
	code_rows__free(&rows);
}

static void knows_the_entry_alone_on_other_machines(void **state)
{
	static const uint8_t machine[2] = { EM_AARCH64, 0 };
	struct code_rows rows;
	uint64_t start;

	make_library(*state, bare);
	start = address_of(*state, "first");
	patch(*state, offsetof(Elf64_Ehdr, e_machine), machine, 2);
	patch(*state, offsetof(Elf64_Ehdr, e_entry), &start, sizeof(start));
	rows = rows_of(*state);
	assert_int_equal(rows.cnt, 2);
	assert_int_equal(code_rows__at(&rows, start)->how, PACKED_ROOT);
	assert_null(code_rows__at(&rows, start - 1));
	assert_null(code_rows__at(&rows, start + 256));
	code_rows__free(&rows);
}

/* Libraries may have any entry address. Only the dynamic linker needs no other library. */
static void believes_the_entry_of_programs(void **state)
{
	for (int needs_others = 0; needs_others < 2; needs_others++) {
		struct code_rows rows;
		uint64_t entry;

		shell__run("cd %s && printf '.text\n.globl bare\n.type bare,@function\nbare: push "
			   "%%%%rbx\n call *%%%%rdi\n "
			   "pop %%%%rbx\n ret\n' >entry.s && gcc -shared %s -Wl,-e,bare "
			   "-Wl,--no-as-needed -o lib.so entry.s 2>&1",
			   (const char *)*state, needs_others ? "" : "-nostdlib");
		entry = address_of(*state, "bare");
		rows = rows_of(*state);
		assert_int_equal(code_rows__at(&rows, entry)->how,
				 needs_others ? PACKED_SP : PACKED_ROOT);
		code_rows__free(&rows);
	}
}

static void leaves_large_files_out(void **state)
{
	char code[2048], path[512];
	struct elf_file *f;

	snprintf(path, sizeof(path), "%s/lib.so", (const char *)*state);
	for (int large = 0; large < 2; large++) {
		snprintf(code, sizeof(code), "%s.skip %#x,0x90\n", bare, large ? 0x900000 : 0x90);
		make_library(*state, code);
		f = elf_file__open(path);
		assert_non_null(f);
		assert_int_equal(code_rows__may_be(f), !large);
		elf_file__put(f);
	}
}

RUN_TESTS(test_with_folder(gives_rules_of_code_between_compiled_code),
	  test_with_folder(needs_no_symbols_and_no_section_headers),
	  test_with_folder(has_no_rules_where_there_is_no_gap),
	  test_with_folder(knows_the_entry_alone_on_other_machines),
	  test_with_folder(believes_the_entry_of_programs),
	  test_with_folder(leaves_large_files_out))
