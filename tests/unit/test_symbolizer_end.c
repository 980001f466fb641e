// SPDX-License-Identifier: GPL-2.0-or-later
/* src/stacks/symbolizer.c: symbolizer__free() while a worker has the names of a stack. */
#include "lib/test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "stacks/symbolizer.h"
#include "symbol/nametask.h"
#include "symbol/symtabtask.h"

#define CPP	   "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define FRAMES	   60
#define PATIENT_NS 60000000000
#define LATE_NS	   1000000000 /* longer than symbolizer__free() waits for stacks */

static bool *begun; /* in memory that the worker shares */
static char map_path[64];

/* Stays busy, because a worker that uses no CPU time is ended. */
static int answer_late(struct task *t)
{
	uint64_t until_ns = monotonic__ns() + LATE_NS;

	__atomic_store_n(begun, true, __ATOMIC_RELEASE);
	while (monotonic__ns() < until_ns)
		;
	return name_task__run(t);
}

static const task_fn late[TASK_CNT] = {
	[TASK_SYMBOLS] = symtab_task__run, [TASK_NAMES] = answer_late
};

static int setup(void **state)
{
	FILE *f;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(map_path, "w");
	assert_non_null(f);
	fputs("1000 10 _Z4madev\n", f);
	fclose(f);
	begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_ptr_not_equal(begun, MAP_FAILED);
	*state = workers__new(late);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	workers__put(*state);
	munmap(begun, sizeof(*begun));
	unlink(map_path);
	return 0;
}

/* Returns a stack of JIT code of this process, and of functions of the file with long names. */
static struct stack_job *make_job(struct elf_file *f)
{
	struct stack_job *j = calloc(1, sizeof(*j) + FRAMES * sizeof(*j->frames));

	assert_non_null(j);
	j->stack_id = 1;
	j->cnt = FRAMES;
	j->owner = (struct stack_owner){ .tgid = (uint32_t)getpid(), .time_ns = monotonic__ns() };
	j->frames[0] = (struct stack_frame){ .jit = true, .vaddr = 0x1008 };
	for (size_t i = 1; i < FRAMES; i++)
		j->frames[i] = (struct stack_frame){ .file = elf_file__get(f),
						     .vaddr = f->segments[1].vaddr + i * 1009 };
	return j;
}

/* The name of the JIT code comes after symbolizer__free() gave the stack up. Then the stack lacks
 * the readable names of the file. */
static void a_stack_that_comes_back_at_the_end_is_freed(void **state)
{
	uint64_t until_ns = monotonic__ns() + PATIENT_NS;
	struct jit *jit = jit__new(&(struct jit_places){ .proc = "/proc" });
	struct symbolizer *s = symbolizer__new(jit, *state);
	struct elf_file *f = elf_file__open(CPP);

	assert_non_null(s);
	if (f) {
		assert_true(symbolizer__submit(s, make_job(f)));
		while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE) && monotonic__ns() < until_ns)
			sched_yield();
		assert_true(*begun);
	}
	symbolizer__free(s);
	jit__free(jit);
	if (!f)
		skip_because("there is no %s", CPP);
	assert_int_equal(f->refs, 1);
	elf_file__put(f);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(a_stack_that_comes_back_at_the_end_is_freed, setup,
					  teardown))
