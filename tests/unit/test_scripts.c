// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of interpreted programs, read once by jobs. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/monotonic.h"
#include "lib/fakepython.h"
#include "runtime/scripts.h"
#include "lib/shell.h"

#define TGID	    4711
#define PATIENCE_NS 5000000000

/* A folder like /proc, with the memory of one process. */
struct rig {
	char *dir;
	int proc, mem;
	struct jobs *jobs;
	struct scripts *scripts;
	struct runtime_layout layout;
	struct scripts_owner owner;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	char path[512];

	if (!r || shell__setup((void **)&r->dir))
		return -1;
	snprintf(path, sizeof(path), "%s/%d", r->dir, TGID);
	if (mkdir(path, 0700))
		return -1;
	snprintf(path, sizeof(path), "%s/%d/mem", r->dir, TGID);
	r->mem = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	r->proc = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->jobs = jobs__new();
	r->scripts = scripts__new(r->proc, r->jobs);
	r->layout = fake__layout();
	r->owner = (struct scripts_owner){ TGID, 1, &r->layout, 0 };
	*state = r;
	if (r->mem < 0 || r->proc < 0 || !r->jobs || !r->scripts || ftruncate(r->mem, 0x400000))
		return -1;
	fake__code(r->mem, &r->layout);
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	jobs__free(r->jobs);
	scripts__free(r->scripts);
	close(r->proc);
	close(r->mem);
	shell__teardown((void **)&r->dir);
	free(r);
	return 0;
}

static uint64_t word_at(const struct rig *r, uint64_t addr)
{
	uint64_t word = 0;

	assert_int_equal(pread(r->mem, &word, sizeof(word), (off_t)addr), sizeof(word));
	return word;
}

/* A call of the function that is at FAKE_CODE now. */
static struct event_call call_now(const struct rig *r)
{
	return (struct event_call){ .code = FAKE_CODE,
				    .cookie = EVENT_COOKIE(word_at(r, FAKE_CODE + 72),
							   word_at(r, FAKE_CODE + 128),
							   word_at(r, FAKE_CODE + 136)) };
}

/* What is known of the function: its name, "" if it is being read, NULL if it cannot be read. */
static const char *name_of(struct rig *r, const struct event_call *c)
{
	const struct script_function *f;
	bool reads = false;

	assert_true(scripts__begin(r->scripts, &r->owner));
	f = scripts__find(r->scripts, c, NULL, &reads);
	scripts__request(r->scripts);
	assert_false(f && reads);
	return f ? f->script.name : reads ? "" : NULL;
}

/* Returns whether the call is at a place of its function that is known. */
static bool has_place(struct rig *r, const struct event_call *c)
{
	const struct script_function *f;
	bool reads = false;

	assert_true(scripts__begin(r->scripts, &r->owner));
	f = scripts__find(r->scripts, c, NULL, &reads);
	assert_non_null(f);
	return script_function__has(f, c->instr);
}

static void wait_for_jobs(struct rig *r)
{
	assert_true(jobs__wait(r->jobs, PATIENCE_NS));
}

static void a_job_reads_a_function_once(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r);

	assert_string_equal(name_of(r, &c), "");
	assert_string_equal(name_of(r, &c), "");
	assert_int_equal(jobs__pending(r->jobs), 1);
	wait_for_jobs(r);
	fake__word(r->mem, FAKE_CODE + 8, 0); /* the process may change it now */
	assert_string_equal(name_of(r, &c), "App.run");
	assert_int_equal(jobs__pending(r->jobs), 0);
}

/* From 3.12 on: the C function's own frame has a code object, too. */
static void frames_that_only_link_others_are_not_read(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r), none = { 0 };

	r->layout.at[AT_CFRAME_PREVIOUS] = AT_NONE;
	c.word = 3ull << r->layout.at[AT_FRAME_OWNER] % 8 * 8;
	assert_null(name_of(r, &c));
	assert_null(name_of(r, &none));
	assert_int_equal(jobs__pending(r->jobs), 0);
	c.word = 0;
	assert_string_equal(name_of(r, &c), "");
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &c), "App.run");
}

static void another_function_at_the_address_has_another_name(void **state)
{
	struct rig *r = *state;
	struct event_call before = call_now(r), after;

	name_of(r, &before);
	wait_for_jobs(r);
	fake__word(r->mem, FAKE_CODE + 128, FAKE_TEXTS + 0x280);
	fake__ascii(r->mem, &r->layout, FAKE_TEXTS + 0x280, "other");
	after = call_now(r);
	assert_string_equal(name_of(r, &after), "");
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &after), "other");
	assert_string_equal(name_of(r, &before), "App.run");
}

static void a_function_that_was_replaced_before_it_was_read_has_no_name(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r);

	fake__u32(r->mem, FAKE_CODE + 72, 99);
	assert_string_equal(name_of(r, &c), "");
	wait_for_jobs(r);
	assert_null(name_of(r, &c));
}

static void functions_that_were_evicted_are_read_again(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r);
	size_t sz;

	name_of(r, &c);
	assert_int_equal(scripts__shrink(r->scripts, 1), 0); /* a job reads it */
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &c), "App.run");
	sz = scripts__sz(r->scripts);
	assert_true(sz > 0);
	assert_int_equal(scripts__shrink(r->scripts, 0), 0);
	assert_int_equal(scripts__shrink(r->scripts, 1), sz);
	assert_int_equal(scripts__sz(r->scripts), 0);
	assert_string_equal(name_of(r, &c), "");
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &c), "App.run");
}

static void functions_of_ended_processes_are_forgotten(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r);
	char path[512], moved[520];

	name_of(r, &c);
	wait_for_jobs(r);
	scripts__sweep(r->scripts);
	scripts__sweep(r->scripts);
	assert_string_equal(name_of(r, &c), "App.run"); /* the process is there */
	snprintf(path, sizeof(path), "%s/%d", r->dir, TGID);
	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(rename(path, moved), 0);
	scripts__sweep(r->scripts);
	assert_string_equal(name_of(r, &c), "App.run"); /* its last events come later */
	scripts__sweep(r->scripts);
	assert_true(scripts__sz(r->scripts) > 0);
	scripts__sweep(r->scripts);
	assert_int_equal(scripts__sz(r->scripts), 0);
}

static void functions_of_a_process_that_ended_have_no_names(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r);

	r->owner.tgid = TGID + 1;
	assert_string_equal(name_of(r, &c), "");
	wait_for_jobs(r);
	assert_null(name_of(r, &c));
}

static void another_process_with_the_id_is_read_anew(void **state)
{
	struct rig *r = *state;
	struct event_call c = call_now(r);

	name_of(r, &c);
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &c), "App.run");
	r->owner.from_ns++;
	assert_string_equal(name_of(r, &c), "");
	r->owner.from_ns++; /* while the one before is being read */
	assert_false(scripts__begin(r->scripts, &r->owner));
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &c), "");
}

/* Threads of a free-threaded Python get a copy of the code with their first call. */
static void a_copy_of_the_code_that_a_thread_got_later_is_found(void **state)
{
	static const uint64_t copies[] = { FAKE_CODE + 232, 0x300000 };
	struct rig *r = *state;
	struct event_call c = { .code = FAKE_CODE, .instr = copies[1] };

	r->layout = fake__free_threaded();
	r->layout.cookie_off = RUNTIME_NO_COOKIE;
	r->owner.event_ns = monotonic__ns();
	fake__code(r->mem, &r->layout);
	fake__copies(r->mem, &r->layout, copies, 1);
	name_of(r, &c);
	wait_for_jobs(r);
	assert_false(has_place(r, &c)); /* it was read after the event: no copy is there */
	fake__copies(r->mem, &r->layout, copies, 2);
	assert_false(has_place(r, &c));
	r->owner.event_ns = monotonic__ns();
	assert_string_equal(name_of(r, &c), "");
	wait_for_jobs(r);
	assert_true(has_place(r, &c));
	assert_int_equal(jobs__pending(r->jobs), 0);
	r->owner.event_ns = monotonic__ns(); /* a call at no place of the function costs one job */
	c.instr = 0x310000;
	assert_string_equal(name_of(r, &c), "");
	wait_for_jobs(r);
	assert_string_equal(name_of(r, &c), "App.run");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(TEST(a_job_reads_a_function_once), TEST(frames_that_only_link_others_are_not_read),
	  TEST(another_function_at_the_address_has_another_name),
	  TEST(a_function_that_was_replaced_before_it_was_read_has_no_name),
	  TEST(functions_that_were_evicted_are_read_again),
	  TEST(functions_of_ended_processes_are_forgotten),
	  TEST(functions_of_a_process_that_ended_have_no_names),
	  TEST(another_process_with_the_id_is_read_anew),
	  TEST(a_copy_of_the_code_that_a_thread_got_later_is_found))
