// SPDX-License-Identifier: GPL-2.0-or-later
/* include/stacks_tracing.h; tests/cli has the supported compilers and linkers. */
#include "lib/test.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include "../../include/stacks_tracing.h"
#include "lib/live_rig.h"
#include "lib/shell.h"

static void listen_to_all(uint16_t how_many)
{
	stacks_tracing_enter_semaphore = stacks_tracing_exit_semaphore =
		stacks_tracing_exit_stack_semaphore = stacks_tracing_close_semaphore = how_many;
}

/* ---- without a listener -------------------------------------------------------------------------
 */

#define NOINLINE __attribute__((noinline, noclone, no_reorder))

static NOINLINE void do_nothing(void)
{
	__asm__ volatile("");
}

static NOINLINE void do_four_probes(void)
{
	STACKS_ENTER(1, 2, 3, 4, "name");
	STACKS_EXIT(1);
	STACKS_EXIT_STACK(1);
	STACKS_CLOSE(1);
}

static NOINLINE void do_a_span(void)
{
	STACKS_SPAN("name", .id = 1, .amount = 2);

	__asm__ volatile("");
}

/* Returns the number of instructions in a call of f, counted by single steps. */
static int instructions(void (*f)(void))
{
	struct user_regs_struct regs;
	uint64_t back = 0, sp = 0;
	int cnt = 0, status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		f();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
		if (regs.rip == (uintptr_t)f) {
			sp = regs.rsp;
			back = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, sp, 0);
		}
		if (back && regs.rip == back && regs.rsp > sp)
			break;
		cnt += back != 0;
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
	}
	live__kill(pid);
	assert_true(back != 0);
	return cnt;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECKS 200 /* of the sanitizers, for each load */
#else
#define CHECKS 0
#endif

static void a_probe_is_a_load_a_test_and_a_branch(void **state)
{
	int none = instructions(do_nothing);

	(void)state;
	/* GCC 16 loads and tests in one instruction. The first function may also have a frame, the
	 * second tests a 0. */
	assert_in_range(instructions(do_four_probes) - none, 4 * 2, 4 * 3 + 2 + 4 * CHECKS);
	assert_in_range(instructions(do_a_span) - none, 2, 3 + 4 + 4 * CHECKS);
}

static void without_listeners_nothing_is_evaluated(void **state)
{
	struct stacks_span s = STACKS_SPAN_OPEN("span");
	int evaluated = 0;

	(void)state;
	STACKS_ENTER((uint64_t)++evaluated, 0, 0, 0, "name");
	STACKS_CLOSE((uint64_t)++evaluated);
	assert_int_equal(evaluated, 0);
	stacks_span__enter(&s);
	stacks_span__exit(&s);
	stacks_span__close(&s);
	assert_int_equal(s.span_id, 0);
	assert_int_equal(stacks_tracing_thread.span_id, 0);
}

/* ---- the sites ----------------------------------------------------------------------------------
 */

static int first_base(struct dl_phdr_info *info, size_t sz, void *base)
{
	(void)sz;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

static void every_site_is_a_nop_with_its_semaphore(void **state)
{
	char *text = shell__output("readelf -n /proc/%d/exe", getpid());
	const struct {
		const char *name;
		volatile uint16_t *semaphore;
	} probes[] = { { "enter", &stacks_tracing_enter_semaphore },
		       { "exit", &stacks_tracing_exit_semaphore },
		       { "exit_stack", &stacks_tracing_exit_stack_semaphore },
		       { "close", &stacks_tracing_close_semaphore } };
	unsigned seen[4] = { 0 };
	uint64_t base = 0;

	(void)state;
	assert_non_null(text);
	dl_iterate_phdr(first_base, &base);
	for (const char *note = text; (note = strstr(note, "Provider: stacks_tracing")); note++) {
		uint64_t pc, semaphore;
		char name[32];
		int found = -1;

		assert_int_equal(
			sscanf(note, "%*s %*s Name: %31s Location: %lx, Base: %*x, Semaphore: %lx",
			       name, &pc, &semaphore),
			3);
		for (int i = 0; i < 4; i++) {
			if (!strcmp(name, probes[i].name))
				found = i;
		}
		assert_true(found >= 0);
		seen[found]++;
		assert_ptr_equal(base + semaphore, probes[found].semaphore);
		assert_int_equal(*(const uint8_t *)(base + pc), 0x90);
	}
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > 0);
	free(text);
}

/* ---- with a listener ----------------------------------------------------------------------------
 */

static void spans_know_their_parents(void **state)
{
	struct stacks_span outer, inner, sibling, orphan, none = { 0 };

	(void)state;
	listen_to_all(1);
	outer = STACKS_SPAN_OPEN("outer", .id = 7, .amount = 8);
	assert_int_equal(outer.parent_id, 0);
	stacks_span__enter(&outer);
	inner = STACKS_SPAN_OPEN("inner");
	orphan = STACKS_SPAN_OPEN("orphan", .parent = &none);
	stacks_span__enter(&inner);
	sibling = STACKS_SPAN_OPEN("sibling", .parent = &outer);
	assert_int_equal(stacks_tracing_thread.span_id, inner.span_id);
	stacks_span__exit(&inner);
	stacks_span__exit(&outer);
	assert_int_equal(stacks_tracing_thread.span_id, 0);
	assert_int_equal(inner.parent_id, outer.span_id);
	assert_int_equal(sibling.parent_id, outer.span_id);
	assert_int_equal(orphan.parent_id, 0);
	assert_true(outer.span_id && inner.span_id && outer.span_id != inner.span_id);
	listen_to_all(0);
}

static void a_scope_ends_with_its_span(void **state)
{
	(void)state;
	listen_to_all(1);
	for (int i = 0; i < 3; i++) {
		STACKS_SPAN("loop");
		uint64_t outer = stacks_tracing_thread.span_id;

		if (i == 1)
			continue;
		{
			STACKS_SPAN("inner", .exit_stack = 1);
			assert_true(stacks_tracing_thread.span_id != outer);
		}
		assert_int_equal(stacks_tracing_thread.span_id, outer);
	}
	assert_int_equal(stacks_tracing_thread.span_id, 0);
	listen_to_all(0);
}

/* As if the collector started, and ended, in the middle of a span. */
static void listeners_come_and_go(void **state)
{
	struct stacks_span s = STACKS_SPAN_OPEN("span"), other;
	uint64_t id;

	(void)state;
	stacks_span__enter(&s);
	listen_to_all(1);
	stacks_span__exit(&s);
	assert_int_equal(s.span_id, 0);
	stacks_span__enter(&s);
	id = s.span_id;
	assert_true(id != 0);
	listen_to_all(0);
	stacks_span__exit(&s);
	assert_int_equal(stacks_tracing_thread.span_id, 0);
	listen_to_all(1);
	stacks_span__enter(&s);
	other = STACKS_SPAN_OPEN("other");
	stacks_span__exit(&s);
	assert_int_equal(s.span_id, id);
	assert_int_equal(other.parent_id, id);
	listen_to_all(0);
}

#define THREADS	   8
#define IDS_OF_ONE 5000

static void *take_ids(void *ids)
{
	for (int i = 0; i < IDS_OF_ONE; i++)
		((uint64_t *)ids)[i] = STACKS_SPAN_OPEN("span").span_id;
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void ids_are_unique_in_the_process(void **state)
{
	static uint64_t ids[THREADS * IDS_OF_ONE];
	pthread_t threads[THREADS];

	(void)state;
	listen_to_all(1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_ids, ids + i * IDS_OF_ONE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	listen_to_all(0);
	qsort(ids, THREADS * IDS_OF_ONE, sizeof(*ids), by_value);
	assert_true(ids[0] != 0);
	for (int i = 1; i < THREADS * IDS_OF_ONE; i++)
		assert_true(ids[i] != ids[i - 1]);
}

static void names_are_cut_and_read_no_further(void **state)
{
	static const char *const names[] = { "", "a", "fifteen bytes..", "sixteen bytes...",
					     "seventeen bytes.." };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(page != MAP_FAILED);
	assert_int_equal(mprotect(page + 4096, 4096, PROT_NONE), 0);
	listen_to_all(1);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t sz = strnlen(names[i], 15) + 1;
		char expected[STACKS_NAME_SZ] = { 0 };
		char *at = page + 4096 - sz; /* the string, or its 16 bytes, ends with the page */

		memcpy(at, names[i], sz);
		memcpy(expected, names[i], sz);
		STACKS_ENTER(1, 0, 0, 0, at);
		assert_memory_equal(stacks_tracing_thread.name, expected, STACKS_NAME_SZ);
	}
	listen_to_all(0);
	munmap(page, 8192);
}

RUN_TESTS(cmocka_unit_test(a_probe_is_a_load_a_test_and_a_branch),
	  cmocka_unit_test(without_listeners_nothing_is_evaluated),
	  cmocka_unit_test(every_site_is_a_nop_with_its_semaphore),
	  cmocka_unit_test(spans_know_their_parents), cmocka_unit_test(a_scope_ends_with_its_span),
	  cmocka_unit_test(listeners_come_and_go), cmocka_unit_test(ids_are_unique_in_the_process),
	  cmocka_unit_test(names_are_cut_and_read_no_further))
