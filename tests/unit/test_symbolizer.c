// SPDX-License-Identifier: GPL-2.0-or-later
/* Names found by another thread. */
#include "lib/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/monotonic.h"
#include "stacks/mangled.h"
#include "stacks/symbolizer.h"
#include "symbol/nametask.h"
#include "symbol/symtabtask.h"

/* defined by the linker: link-time address 0 of this program */
extern const char __executable_start[];

#define PATIENT_NS 60000000000

struct rig {
	struct workers *workers; /* NULL: none */
	struct symbolizer *symbolizer;
	struct elf_file *self;
};

static int begin(struct rig *r)
{
	r->symbolizer = symbolizer__new(NULL, r->workers);
	r->self = elf_file__open("/proc/self/exe");
	return r->symbolizer && r->self ? 0 : -1;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	return begin(r);
}

static const task_fn honest[TASK_CNT] = {
	[TASK_SYMBOLS] = symtab_task__run, [TASK_NAMES] = name_task__run
};

static int setup_with_workers(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	r->workers = workers__new(honest);
	return r->workers ? begin(r) : -1;
}

/* Gives a name with a control character, which no terminal must get, or one name too few. */
static int answer_badly(struct task *t)
{
	static const char *const answers[] = { "bad\033name", "name without an end", "" };
	const char *bad = answers[t->request_sz % 3];
	size_t sz = strlen(bad) + (t->request_sz % 3 != 1);

	t->answer = malloc(sz);
	memcpy(t->answer, bad, sz);
	t->answer_sz = sz;
	return 0;
}

static const task_fn hostile[TASK_CNT] = {
	[TASK_SYMBOLS] = symtab_task__run, [TASK_NAMES] = answer_badly
};

static int setup_with_hostile_workers(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	log__init("test_symbolizer", LOG_ERROR);
	r->workers = workers__new(hostile);
	return r->workers ? begin(r) : -1;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	symbolizer__free(r->symbolizer);
	workers__put(r->workers);
	assert_int_equal(r->self->refs, 1); /* jobs had references, and are gone */
	elf_file__put(r->self);
	free(r);
	return 0;
}

static uint64_t link_time(const void *function)
{
	return (uintptr_t)function - (uintptr_t)__executable_start;
}

/* A stack of this program: symbolizer__new(), a place without a name, a file that does not exist,
 * and symbolizer__free(). */
static struct stack_job *make_job(struct rig *r, uint64_t id)
{
	const uint64_t places[] = { link_time(symbolizer__new) + 4, 1, 1,
				    link_time(symbolizer__free) };
	struct stack_job *j = malloc(sizeof(*j) + 4 * sizeof(*j->frames));

	assert_non_null(j);
	*j = (struct stack_job){ .stack_id = id, .cnt = 4 };
	for (size_t i = 0; i < 4; i++)
		j->frames[i] = (struct stack_frame){ .file = i == 2 ? NULL : elf_file__get(r->self),
						     .vaddr = places[i],
						     .symbol.name = "not asked yet" };
	return j;
}

static void check(const struct stack_job *j, uint64_t id)
{
	assert_non_null(j);
	assert_int_equal(j->stack_id, id);
	assert_string_equal(j->frames[0].symbol.name, "symbolizer__new");
	assert_int_equal(j->frames[0].symbol.address, j->frames[0].vaddr - 4);
	assert_null(j->frames[1].symbol.name);
	assert_null(j->frames[2].symbol.name);
	assert_string_equal(j->frames[3].symbol.name, "symbolizer__free");
}

static void jobs_come_back_in_order(void **state)
{
	struct rig *r = *state;

	assert_null(symbolizer__take(r->symbolizer));
	assert_int_equal(symbolizer__sz(r->symbolizer), 0);
	symbolizer__wait(r->symbolizer, PATIENT_NS);
	for (int round = 0; round < 3; round++) {
		for (uint64_t id = 1; id <= 100; id++)
			symbolizer__submit(r->symbolizer, make_job(r, id));
		assert_int_equal(symbolizer__pending(r->symbolizer), 100);
		assert_true(symbolizer__sz(r->symbolizer) > 100 * sizeof(struct stack_job));
		symbolizer__wait(r->symbolizer, PATIENT_NS);
		for (uint64_t id = 1; id <= 100; id++) {
			struct stack_job *j = symbolizer__take(r->symbolizer);

			check(j, id);
			stack_job__free(j);
			assert_int_equal(symbolizer__pending(r->symbolizer), 100 - id);
		}
		assert_null(symbolizer__take(r->symbolizer));
		assert_int_equal(symbolizer__sz(r->symbolizer), 0);
	}
}

/* The first name of a file takes milliseconds, because its table is built. */
static void waits_for_the_job_in_hand(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 10; i++) {
		struct stack_job *j = make_job(r, 1);

		elf_file__put(j->frames[0].file);
		j->frames[0].file = elf_file__open("/lib/x86_64-linux-gnu/libc.so.6");
		assert_non_null(j->frames[0].file);
		symbolizer__submit(r->symbolizer, j);
		usleep(1000); /* it has probably started by now, and not finished */
		symbolizer__wait(r->symbolizer, PATIENT_NS);
		assert_ptr_equal(symbolizer__take(r->symbolizer), j);
		stack_job__free(j);
	}
}

/* Other threads may request names meanwhile, also of the same file before its table exists. */
static void another_thread_may_ask_meanwhile(void **state)
{
	struct rig *r = *state;
	struct symbol s;

	for (uint64_t id = 1; id <= 200; id++) {
		symbolizer__submit(r->symbolizer, make_job(r, id));
		while (symbolizer__symbol(r->symbolizer, r->self, link_time(symbolizer__new) + 1,
					  &s) == -EAGAIN)
			usleep(100);
		assert_string_equal(s.name, "symbolizer__new");
	}
	symbolizer__wait(r->symbolizer, PATIENT_NS);
	assert_int_equal(symbolizer__symbol(r->symbolizer, r->self, 1, &s), -ENOENT);
	assert_int_equal(
		symbolizer__symbol(r->symbolizer, r->self, link_time(symbolizer__wait), &s),
		-EAGAIN); /* a name that no job has looked up */
	symbolizer__wait(r->symbolizer, PATIENT_NS);
	for (uint64_t id = 1; id <= 200; id++) {
		struct stack_job *j = symbolizer__take(r->symbolizer);

		check(j, id);
		stack_job__free(j);
	}
}

#define CPP	   "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define CPP_FRAMES 60

/* Returns a stack through functions of libstdc++, with long names. */
static struct stack_job *make_cpp_job(struct elf_file *f, uint64_t vaddr)
{
	struct stack_job *j = calloc(1, sizeof(*j) + CPP_FRAMES * sizeof(*j->frames));

	assert_non_null(j);
	j->stack_id = 1;
	j->cnt = CPP_FRAMES;
	for (size_t i = 0; i < CPP_FRAMES; i++, vaddr += 1009)
		j->frames[i] = (struct stack_frame){ .file = elf_file__get(f), .vaddr = vaddr };
	return j;
}

/* Names 20 stacks, and calls `named` for each frame. */
static void name_cpp(struct rig *r, void (*named)(const struct stack_frame *, struct elf_file *))
{
	struct elf_file *f = elf_file__open(CPP), *here = elf_file__open(CPP);

	if (!f)
		skip_because("there is no %s", CPP);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t vaddr = f->segments[1].vaddr + i * 40961;
		struct stack_job *j;

		assert_true(symbolizer__submit(r->symbolizer, make_cpp_job(f, vaddr)));
		symbolizer__wait(r->symbolizer, PATIENT_NS);
		j = symbolizer__take(r->symbolizer);
		assert_non_null(j);
		for (size_t n = 0; n < CPP_FRAMES; n++)
			named(&j->frames[n], here);
		stack_job__free(j);
	}
	elf_file__put(f);
	elf_file__put(here);
}

static void is_named_as_here(const struct stack_frame *frame, struct elf_file *here)
{
	struct symbol s;

	if (elf_file__symbol(here, frame->vaddr, &s))
		assert_string_equal(frame->symbol.name, s.name);
	else
		assert_null(frame->symbol.name);
}

static void names_from_workers_are_the_same(void **state)
{
	name_cpp(*state, is_named_as_here);
}

static void is_mangled(const struct stack_frame *frame, struct elf_file *here)
{
	struct symbol s;

	if (elf_file__symbol(here, frame->vaddr, &s) && strchr(s.name, '('))
		assert_int_equal(strncmp(frame->symbol.name, "_Z", 2), 0);
}

static void names_that_workers_forge_stay_mangled(void **state)
{
	struct workers_stats s;
	struct rig *r = *state;

	name_cpp(r, is_mangled);
	workers__stats(r->workers, &s);
	assert_true(s.refused > 0);
}

/* Sets .mangled of the frames with mangled names. */
static void find_mangled(struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		j->frames[i].mangled = elf_file__mangled(j->frames[i].file, j->frames[i].vaddr);
}

static void stacks_share_a_request(void **state)
{
	struct rig *r = *state;
	struct elf_file *f = elf_file__open(CPP), *here = elf_file__open(CPP);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct mangled_names names = { .workers = r->workers, .lock = &lock };
	struct workers_stats before, after;
	struct stack_job *jobs[3];
	int err;

	if (!f)
		skip_because("there is no %s", CPP);
	elf_file__set_symtab(f, symtab_task__request(r->workers, f, &err));
	for (size_t j = 0; j < 3; j++) { /* two are the same */
		jobs[j] = make_cpp_job(f, f->segments[1].vaddr + j / 2 * 40961);
		find_mangled(jobs[j]);
	}
	workers__stats(r->workers, &before);
	mangled_names__of_files(&names, jobs, 3);
	workers__stats(r->workers, &after);
	assert_int_equal(after.asked - before.asked, 1);
	for (size_t j = 0; j < 3; j++) {
		for (size_t i = 0; i < CPP_FRAMES; i++) {
			struct stack_frame *frame = &jobs[j]->frames[i];

			assert_false(frame->mangled);
			if (frame->symbol.name)
				is_named_as_here(frame, here);
		}
		stack_job__free(jobs[j]);
	}
	elf_file__put(f);
	elf_file__put(here);
}

static void submit_cpp(struct rig *r, struct elf_file *f, uint64_t nth)
{
	uint64_t vaddr = f->segments[1].vaddr + nth * 40961;

	assert_true(symbolizer__submit(r->symbolizer, make_cpp_job(f, vaddr)));
}

/* Waits for a finished stack without symbolizer__wait(), which lets none wait for others. */
static struct stack_job *take_next(struct rig *r)
{
	uint64_t until_ns = monotonic__ns() + PATIENT_NS;
	struct stack_job *j;

	while (!(j = symbolizer__take(r->symbolizer)) && monotonic__ns() < until_ns)
		sched_yield();
	assert_non_null(j);
	return j;
}

/* Waits for a stack that lacks no readable name. */
static void take_plain(struct rig *r)
{
	struct stack_job *j;

	assert_true(symbolizer__submit(r->symbolizer, make_job(r, 7)));
	j = take_next(r);
	check(j, 7);
	stack_job__free(j);
}

#define SOON_NS 300000000 /* less than stacks wait for others */

static void stacks_of_different_moments_share_a_request(void **state)
{
	struct rig *r = *state;
	struct elf_file *f = elf_file__open(CPP);
	struct workers_stats before, after;
	uint64_t begin_ns, took_ns;

	if (!f)
		skip_because("there is no %s", CPP);
	take_plain(r);
	submit_cpp(r, f, 0); /* reads the symbols */
	symbolizer__wait(r->symbolizer, PATIENT_NS);
	stack_job__free(symbolizer__take(r->symbolizer));
	workers__stats(r->workers, &before);
	begin_ns = monotonic__ns();
	submit_cpp(r, f, 1);
	take_plain(r); /* the stack before is still there */
	submit_cpp(r, f, 2);
	symbolizer__wait(r->symbolizer, PATIENT_NS);
	took_ns = monotonic__ns() - begin_ns;
	workers__stats(r->workers, &after);
	for (size_t i = 0; i < 2; i++)
		stack_job__free(symbolizer__take(r->symbolizer));
	elf_file__put(f);
	assert_in_range(after.asked - before.asked, 1, 2);
	if (after.asked - before.asked == 2 && took_ns >= SOON_NS)
		skip_because("the machine was too busy: the stacks took %d ms",
			     (int)(took_ns / 1000000));
	assert_int_equal(after.asked - before.asked, 1);
}

static void readable_names_come_without_a_wait_for_all(void **state)
{
	struct rig *r = *state;
	struct elf_file *f = elf_file__open(CPP);
	struct stack_job *j;

	if (!f)
		skip_because("there is no %s", CPP);
	submit_cpp(r, f, 0);
	j = take_next(r);
	assert_false(j->gave_up || mangled_names__has_any(j));
	stack_job__free(j);
	elf_file__put(f);
}

static void jobs_that_are_not_taken_are_freed(void **state)
{
	struct rig *r = *state;

	for (uint64_t id = 1; id <= 100; id++)
		symbolizer__submit(r->symbolizer, make_job(r, id));
}

static void it_may_end_without_work(void **state)
{
	(void)state;
	symbolizer__free(NULL);
}

#define test_with_rig(f)     cmocka_unit_test_setup_teardown(f, setup, teardown)
#define test_with_workers(f) cmocka_unit_test_setup_teardown(f, setup_with_workers, teardown)
#define test_with_hostile_workers(f) \
	cmocka_unit_test_setup_teardown(f, setup_with_hostile_workers, teardown)

RUN_TESTS(test_with_workers(jobs_come_back_in_order), test_with_workers(waits_for_the_job_in_hand),
	  test_with_workers(another_thread_may_ask_meanwhile),
	  test_with_workers(names_from_workers_are_the_same),
	  test_with_workers(stacks_share_a_request),
	  test_with_workers(stacks_of_different_moments_share_a_request),
	  test_with_workers(readable_names_come_without_a_wait_for_all),
	  test_with_hostile_workers(names_that_workers_forge_stay_mangled),
	  test_with_rig(jobs_come_back_in_order), test_with_rig(waits_for_the_job_in_hand),
	  test_with_rig(another_thread_may_ask_meanwhile),
	  test_with_rig(jobs_that_are_not_taken_are_freed), test_with_rig(it_may_end_without_work))
