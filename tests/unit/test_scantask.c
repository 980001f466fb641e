// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules of code and of Go's functions that workers find: the same as without, and wrong answers. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cfi/scantask.h"
#include "lib/shell.h"

#define SOURCE                                                                                   \
	"__asm__(\".globl bare\\nbare: push %rbx\\n sub $32,%rsp\\n nop\\n add $32,%rsp\\n pop " \
	"%rbx\\n ret\\n\");\n"                                                                   \
	"void goexit(void) __asm__(\"runtime.goexit\"); void goexit(void) { }\n"                 \
	"void bare(void); int main(void) { bare(); goexit(); return 0; }\n"

/* c is a C program; go has a section of Go's, too. */
static int build(void **state)
{
	log__init("test_scantask", LOG_ERROR);
	if (shell__setup(state) != 0)
		return -1;
	shell__write(*state, "p.c", SOURCE);
	shell__run("cd '%s' && gcc -O1 -o c p.c && "
		   "objcopy --add-section .gopclntab=p.c c go",
		   (char *)*state);
	return 0;
}

static struct elf_file *open_in(const char *folder, const char *name)
{
	char path[512];
	struct elf_file *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = elf_file__open(path);
	assert_non_null(f);
	return f;
}

static const task_fn honest[TASK_CNT] = { [TASK_SCAN] = scan_task__run };

static uint64_t requests(struct workers *w)
{
	struct workers_stats s;

	workers__stats(w, &s);
	return s.asked;
}

static void a_worker_finds_the_rules_of_code(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_in(*state, "c");
	struct code_rows remote, local;

	assert_int_equal(scan_task__rows(w, f, &remote), 0);
	assert_int_equal(scan_task__rows(NULL, f, &local), 0);
	assert_true(local.cnt > 2);
	assert_int_equal(remote.cnt, local.cnt);
	assert_memory_equal(remote.rows, local.rows, local.cnt * sizeof(*local.rows));
	assert_int_equal(requests(w), 1);
	code_rows__free(&remote);
	code_rows__free(&local);
	elf_file__put(f);
	workers__put(w);
}

static void a_worker_finds_the_overrides_of_go(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_in(*state, "go");
	struct overrides remote, local;

	assert_int_equal(scan_task__overrides(w, f, &remote), 0);
	assert_int_equal(scan_task__overrides(NULL, f, &local), 0);
	assert_true(remote.is_go && remote.has_pclntab);
	assert_int_equal(remote.cnt, local.cnt);
	for (size_t i = 0; i < local.cnt; i++) {
		assert_int_equal(remote.marks[i].vaddr, local.marks[i].vaddr);
		assert_int_equal(remote.marks[i].rule.packed.how, local.marks[i].rule.packed.how);
	}
	assert_int_equal(requests(w), 1);
	elf_file__put(f);
	workers__put(w);
}

static void a_file_without_go_needs_no_worker_for_overrides(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_in(*state, "c");
	struct overrides o;

	assert_int_equal(scan_task__overrides(w, f, &o), 0);
	assert_false(o.is_go || o.has_pclntab);
	assert_int_equal(requests(w), 0);
	elf_file__put(f);
	workers__put(w);
}

/* ---- wrong answers ------------------------------------------------------------------------------
 */

static int answer_bytes(struct task *t, const void *bytes, size_t sz)
{
	t->answer = malloc(sz);
	memcpy(t->answer, bytes, sz);
	t->answer_sz = sz;
	return 0;
}

static int answer_half_a_row(struct task *t)
{
	return answer_bytes(t, (uint64_t[]){ 1, 0, 2 }, 24);
}

static int answer_backwards(struct task *t)
{
	return answer_bytes(t, (uint64_t[]){ 2, 0, 1, 0 }, 32);
}

static int answer_unknown_rule(struct task *t)
{
	return answer_bytes(t, (uint64_t[]){ 2, 200 }, 16);
}

static void wrong_rows_are_refused(void **state)
{
	static const task_fn wrong[] = { answer_half_a_row, answer_backwards, answer_unknown_rule };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const task_fn functions[TASK_CNT] = { [TASK_SCAN] = wrong[i] };
		struct workers *w = workers__new(functions);
		struct elf_file *f = open_in(*state, "c");
		struct workers_stats s;
		struct code_rows rows;

		assert_int_equal(scan_task__rows(w, f, &rows), -ECHILD);
		assert_int_equal(rows.cnt, 0);
		workers__stats(w, &s);
		assert_int_equal(s.refused, 4);
		elf_file__put(f);
		workers__put(w);
	}
}

/* The answer of a working task: has_pclntab, is_go, their number, two overrides. */
struct right_answer {
	uint64_t head[3];
	struct override marks[2];
};

static void forged_overrides_are_refused(void **state)
{
	const struct right_answer right = {
		{ 1, 1, 2 },
		{ { 16, 4, { .packed.how = PACKED_ROOT } },
		  { 20, 8, { .packed.how = PACKED_SP, .base = 3 } } },
	};
	struct right_answer a = right;
	struct overrides o;

	(void)state;
	assert_true(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	assert_int_equal(o.cnt, 2);
	assert_false(scan_answer__overrides(&a, sizeof(a) - 8, &machine_x86_64, &o));
	assert_false(scan_answer__overrides(NULL, 0, &machine_x86_64, &o));
	a.head[2] = 3;
	assert_false(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	a = right;
	a.head[2] = UINT64_MAX;
	assert_false(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	a = right;
	a.marks[1].vaddr = 19; /* overlaps */
	assert_false(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	a = right;
	a.marks[1].sz = UINT64_MAX;
	assert_false(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	a = right;
	a.marks[1].rule.base = machine_x86_64.reg_cnt; /* no such register */
	assert_false(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	a = right;
	a.marks[0].rule.packed.how = PACKED_ELSEWHERE;
	assert_false(scan_answer__overrides(&a, sizeof(a), &machine_x86_64, &o));
	assert_int_equal(o.cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_finds_the_rules_of_code),
		cmocka_unit_test(a_worker_finds_the_overrides_of_go),
		cmocka_unit_test(a_file_without_go_needs_no_worker_for_overrides),
		cmocka_unit_test(wrong_rows_are_refused),
		cmocka_unit_test(forged_overrides_are_refused),
	};

	return cmocka_run_group_tests(tests, build, shell__teardown);
}
