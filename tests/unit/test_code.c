// SPDX-License-Identifier: GPL-2.0-or-later
/* Code of a file: recognition of calls, and reads without waiting. */
#include "lib/test.h"

#include "lib/shell.h"
#include "cfi/libdwrules.h"

/* Labels yes…: after a call. */
static const char source[] =
	".text\n.globl yes1,yes2,yes3,yes4,yes5,yes6,yes7,yes8,yes9,no1,no2,no3,no4\n"
	".skip 16,0x90\n call .+100\nyes1: call *%rax\nyes2: call *%r9\nyes3:"
	" call *8(%rbx)\nyes4: call *1000(%rbx)\nyes5: call *(%rbx,%rcx,8)\nyes6:"
	" call *8(%rsp)\nyes7: call *0x1000(%r12,%rax,2)\nyes8: call *foo(%rip)\nyes9:"
	" .skip 8,0x90\nno1: jmp *%rax\nno2: push %rax\nno3: .byte 0xff,0x14\nno4:"
	" nop\n.data\nfoo: .quad 0\n";
#define LABEL_CNT 13

static char *build(const char *dir)
{
	char path[256], *lib;
	FILE *f;

	snprintf(path, sizeof(path), "%s/calls.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	assert_true(asprintf(&lib, "%s/calls.so", dir) > 0);
	shell__run("gcc -shared -nostdlib -o %s %s 2>&1", lib, path);
	return lib;
}

static void calls_are_recognized(void **state)
{
	char *lib = build(*state), *names = shell__output("nm %s | grep -E 'yes|no[0-9]'", lib);
	struct elf_file *f = elf_file__open(lib);
	int checked = 0;

	assert_non_null(f);
	for (char *line = strtok(names, "\n"); line; line = strtok(NULL, "\n"), checked++) {
		uint64_t at = strtoull(line, NULL, 16);

		for (int again = 0; again < 2; again++)
			assert_int_equal(libdw_rules__code(libdw_rules__of(f, NULL), at,
							   elf_code__after_call),
					 strstr(line, "yes") != NULL);
	}
	assert_int_equal(checked, LABEL_CNT);
	assert_false(libdw_rules__code(libdw_rules__of(f, NULL), 3, elf_code__after_call));
	free(names);
	free(lib);
	elf_file__put(f);
}

static void code_in_memory_is_not_waited_for(void **state)
{
	char *lib = build(*state);
	struct elf_file *f = elf_file__open(lib);
	struct jobs *jobs = jobs__new();
	char *name = shell__output("nm %s | grep no1", lib);
	uint64_t at = strtoull(name, NULL, 16);
	struct libdw_rules *cfi;
	uint8_t byte;
	bool now;

	assert_non_null(f);
	cfi = libdw_rules__of(f, jobs);
	now = elf_file__read_now(f, 0, &byte, 1) == 0; /* not on every file system */
	assert_false(libdw_rules__code(cfi, at, elf_code__after_call));
	assert_int_equal(libdw_rules__awaits(cfi), !now);
	assert_int_equal(jobs__pending(jobs), !now);
	jobs__free(jobs);
	elf_file__put(f);
	free(name);
	free(lib);
}

RUN_TESTS(test_with_folder(calls_are_recognized),
	  test_with_folder(code_in_memory_is_not_waited_for))
