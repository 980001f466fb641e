// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols (src/elf/addresstask.c), notes (src/elf/sdttask.c) and allocation functions
 * (src/capture/alloctask.c) that workers find: the same as without, and wrong answers. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/allocations.h"
#include "capture/alloctask.h"
#include "elf/addresstask.h"
#include "elf/sdttask.h"
#include "lib/shell.h"

#define SOURCE                                                                                     \
	"#include <stacks_tracing.h>\n#include <stdlib.h>\n"                                       \
	"int kept = 1; void *malloc(size_t n) { return kept ? (void *)n : 0; }\n"                  \
	"void free(void *p) { kept = !p; } int work(int x) { STACKS_EXIT(x); return x * kept; }\n" \
	"int main(int c, char **v) { STACKS_EXIT(c); return work(c) + !v; }\n"

static int build(void **state)
{
	log__init("test_placetasks", LOG_ERROR);
	if (shell__setup(state) != 0)
		return -1;
	shell__write(*state, "p.c", SOURCE);
	shell__run("gcc -O0 -rdynamic -Iinclude -o '%s/p' '%s/p.c'", (char *)*state,
		   (char *)*state);
	return 0;
}

static struct elf_file *open_program(const char *folder)
{
	char path[512];
	struct elf_file *f;

	snprintf(path, sizeof(path), "%s/p", folder);
	f = elf_file__open(path);
	assert_non_null(f);
	return f;
}

/* ---- right answers ------------------------------------------------------------------------------
 */

static const task_fn honest[TASK_CNT] = {
	[TASK_ADDRESSES] = address_task__run,
	[TASK_NOTES] = sdt_task__run,
	[TASK_ALLOCATORS] = alloc_task__run,
};

#define LEFT (1u << 20)

static const char *const wanted[] = { "work", "no_such_function", "kept", "main" };
static const struct elf_symbol_names names = { wanted, 4 };

static void a_worker_finds_symbols(void **state)
{
	struct symbol_search remote = { workers__new(honest), LEFT, false },
			     local = { NULL, LEFT, false };
	struct elf_file *f = open_program(*state);
	struct elf_symbol_code code, same;
	uint64_t found[4], expected[4];

	assert_true(address_task__find(&remote, f, &names, found));
	address_task__find(&local, f, &names, expected);
	assert_memory_equal(found, expected, sizeof(found));
	assert_int_equal(found[1], 0);
	assert_true(found[2] && found[3]);
	assert_true(remote.left < LEFT);
	assert_true(address_task__code(&remote, f, "work", &code));
	assert_true(address_task__code(&local, f, "work", &same));
	assert_int_equal(code.start, same.start);
	assert_int_equal(code.end, same.end);
	assert_int_equal(remote.left, local.left);
	assert_false(address_task__code(&remote, f, "no_such_function", &code));
	assert_false(remote.failed);
	elf_file__put(f);
	workers__put(remote.workers);
}

static void a_worker_keeps_the_limit(void **state)
{
	struct symbol_search s = { workers__new(honest), 100, false };
	struct elf_file *f = open_program(*state);
	uint64_t found[4];

	assert_int_equal(address_task__find(&s, f, &names, found), 0);
	assert_int_equal(s.left, 100);
	assert_false(s.failed);
	elf_file__put(f);
	workers__put(s.workers);
}

struct note_list {
	struct sdt_note at[4];
	size_t cnt;
};

static int keep(const struct sdt_note *n, void *arg)
{
	struct note_list *l = arg;

	assert_true(l->cnt < 4);
	l->at[l->cnt++] = *n;
	return 0;
}

static void a_worker_reads_notes(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_program(*state), *same = open_program(*state),
			*none = elf_file__open("/bin/true");
	struct note_list remote = { .cnt = 0 }, local = { .cnt = 0 };

	assert_int_equal(sdt_task__each(w, f, keep, &remote), 0);
	assert_int_equal(sdt_task__each(NULL, same, keep, &local), 0);
	assert_int_equal(remote.cnt, 2);
	assert_int_equal(local.cnt, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(remote.at[i].provider, local.at[i].provider);
		assert_string_equal(remote.at[i].name, "exit");
		assert_string_equal(remote.at[i].args, local.at[i].args);
		assert_int_equal(remote.at[i].pc, local.at[i].pc);
		assert_int_equal(remote.at[i].semaphore, local.at[i].semaphore);
	}
	assert_int_equal(sdt_task__each(w, none, keep, &remote), -ENOENT);
	elf_file__put(f);
	elf_file__put(same);
	elf_file__put(none);
	workers__put(w);
}

static void a_worker_finds_allocation_functions(void **state)
{
	struct workers *w = workers__new(honest);
	struct elf_file *f = open_program(*state);
	struct alloc_functions remote, local;

	assert_int_equal(alloc_task__find(w, f, &remote), 0);
	assert_int_equal(alloc_task__find(NULL, f, &local), 0);
	assert_int_equal(remote.cnt, 2);
	assert_int_equal(local.cnt, 2);
	assert_memory_equal(remote.at, local.at, 2 * sizeof(local.at[0]));
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

static int answer_nothing(struct task *t)
{
	(void)t;
	return 0;
}

static int answer_text(struct task *t)
{
	return answer_bytes(t, "a text of 24 characters", 24);
}

/* More of the limit than there was. */
static int answer_more_left(struct task *t)
{
	return answer_bytes(t, (uint64_t[]){ LEFT + 1, 1, 2, 3, 4 }, 40);
}

static int answer_fewer(struct task *t)
{
	return answer_bytes(t, (uint64_t[]){ LEFT, 1, 2, 3 }, 32);
}

static void wrong_addresses_are_refused(void **state)
{
	static const task_fn wrong[] = { answer_nothing, answer_text, answer_more_left,
					 answer_fewer };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const task_fn functions[TASK_CNT] = { [TASK_ADDRESSES] = wrong[i] };
		struct symbol_search s = { workers__new(functions), LEFT, false };
		struct elf_file *f = open_program(*state);
		struct elf_symbol_code code;
		uint64_t found[4];

		assert_int_equal(address_task__find(&s, f, &names, found), 0);
		assert_true(s.failed);
		assert_int_equal(s.left, LEFT);
		assert_false(address_task__code(&s, f, "work", &code));
		elf_file__put(f);
		workers__put(s.workers);
	}
}

/* Code that ends before it begins, in an answer of the right form. */
static int answer_backwards(struct task *t)
{
	return answer_bytes(t, (uint64_t[]){ 0, 4096, 64 }, 24);
}

static void code_that_ends_before_its_begin_is_not_found(void **state)
{
	const task_fn functions[TASK_CNT] = { [TASK_ADDRESSES] = answer_backwards };
	struct symbol_search s = { workers__new(functions), LEFT, false };
	struct elf_file *f = open_program(*state);
	struct elf_symbol_code code;

	assert_false(address_task__code(&s, f, "work", &code));
	elf_file__put(f);
	workers__put(s.workers);
}

/* One note. Its texts are at these positions. */
static int answer_note(struct task *t, uint64_t cnt, const uint32_t positions[3], const char *texts)
{
	struct {
		uint64_t cnt, pc, semaphore;
		uint32_t positions[4];
		char texts[4];
	} block = { .cnt = cnt };

	memcpy(block.positions, positions, 12);
	memcpy(block.texts, texts, 4);
	return answer_bytes(t, &block, offsetof(__typeof__(block), texts) + 4);
}

static int answer_text_outside(struct task *t)
{
	return answer_note(t, 1, (uint32_t[]){ 0, 1, 4 }, "a\0b");
}

static int answer_text_without_end(struct task *t)
{
	return answer_note(t, 1, (uint32_t[]){ 0, 1, 2 }, "abcd");
}

static int answer_too_many_notes(struct task *t)
{
	return answer_note(t, 2, (uint32_t[]){ 0, 0, 0 }, "abc");
}

static int answer_countless_notes(struct task *t)
{
	return answer_note(t, UINT64_MAX / 32 + 1, (uint32_t[]){ 0, 0, 0 }, "abc");
}

static void wrong_notes_are_refused(void **state)
{
	static const task_fn wrong[] = { answer_nothing,	answer_text,
					 answer_text_outside,	answer_text_without_end,
					 answer_too_many_notes, answer_countless_notes };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const task_fn functions[TASK_CNT] = { [TASK_NOTES] = wrong[i] };
		struct workers *w = workers__new(functions);
		struct elf_file *f = open_program(*state);
		struct note_list l = { .cnt = 0 };

		assert_int_equal(sdt_task__each(w, f, keep, &l), -ECHILD);
		assert_int_equal(l.cnt, 0);
		elf_file__put(f);
		workers__put(w);
	}
}

/* Answers with the right functions, of which the first one is changed. */
static int answer_forged(struct task *t, void (*forge)(struct alloc_functions *))
{
	int err = alloc_task__run(t);

	if (!err)
		forge(t->answer);
	return err;
}

static void move_place(struct alloc_functions *l)
{
	l->at[0].off++;
}

/* The place fits, but is not in the code. */
static void move_to_headers(struct alloc_functions *l)
{
	l->at[0] = (struct alloc_function){ 0 };
}

static void double_place(struct alloc_functions *l)
{
	l->at[1] = l->at[0];
}

static void change_page(struct alloc_functions *l)
{
	l->at[0].cookie ^= 1u << ALLOC_COOKIE_PAGE;
}

static void claim_process(struct alloc_functions *l)
{
	l->at[0].cookie |= ALLOC_COOKIE_OWN;
}

static void change_call(struct alloc_functions *l)
{
	l->at[0].cookie |= ALLOC_COOKIE_CALL;
}

static void count_more(struct alloc_functions *l)
{
	l->cnt = ALLOC_FUNCTION_MAX + 1;
}

static void (*const forgeries[])(struct alloc_functions *) = {
	move_place,    move_to_headers, double_place, change_page,
	claim_process, change_call,	count_more,
};
static size_t forgery; /* a worker has that of its start */

static int answer_forgery(struct task *t)
{
	return answer_forged(t, forgeries[forgery]);
}

static void forged_allocation_functions_are_refused(void **state)
{
	for (forgery = 0; forgery < sizeof(forgeries) / sizeof(*forgeries); forgery++) {
		const task_fn functions[TASK_CNT] = { [TASK_ALLOCATORS] = answer_forgery };
		struct workers *w = workers__new(functions);
		struct elf_file *f = open_program(*state);
		struct alloc_functions found;
		struct workers_stats stats;

		assert_int_equal(alloc_task__find(w, f, &found), -ECHILD);
		workers__stats(w, &stats);
		assert_int_equal(stats.refused, 4);
		elf_file__put(f);
		workers__put(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_finds_symbols),
		cmocka_unit_test(a_worker_keeps_the_limit),
		cmocka_unit_test(a_worker_reads_notes),
		cmocka_unit_test(a_worker_finds_allocation_functions),
		cmocka_unit_test(wrong_addresses_are_refused),
		cmocka_unit_test(code_that_ends_before_its_begin_is_not_found),
		cmocka_unit_test(wrong_notes_are_refused),
		cmocka_unit_test(forged_allocation_functions_are_refused),
	};

	return cmocka_run_group_tests(tests, build, shell__teardown);
}
