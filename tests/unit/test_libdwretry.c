// SPDX-License-Identifier: GPL-2.0-or-later
/* src/cfi/libdwrules.c: rules of a file of which workers failed to read a part, until the part is
 * read again. */
#include "lib/test.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cfi/framestask.h"
#include "cfi/libdwrules.h"
#include "cfi/scantask.h"
#include "lib/shell.h"

#define PATIENCE_NS 60000000000
#define LATER_S	    31 /* a part that workers failed to read is read again after 30 s */

static time_t later_s;

/* The clock of all programs, which is `later_s` ahead. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int err = (int)syscall(SYS_clock_gettime, clock, ts);

	ts->tv_sec += later_s;
	return err;
}

static const task_fn honest[TASK_CNT] = {
	[TASK_SCAN] = scan_task__run, [TASK_FRAMES] = frames_task__run
};

static int fail_always(struct task *t)
{
	(void)t;
	_exit(1);
}

static const task_fn failing[TASK_CNT] = { [TASK_SCAN] = fail_always, [TASK_FRAMES] = fail_always };

/* own has frames, and a section of Go's; beside has frames in beside.debug. */
static int build(void **state)
{
	log__init("test_libdwretry", LOG_ERROR);
	if (shell__setup(state) != 0)
		return -1;
	shell__write(*state, "p.c", "int f(void); int f(void) { return 1; }\n");
	shell__run("cd '%s' && gcc -O1 -shared -fPIC -o plain p.c && "
		   "objcopy --add-section .gopclntab=p.c plain own && "
		   "gcc -O1 -g -shared -fPIC -fno-asynchronous-unwind-tables -o beside p.c && "
		   "objcopy --only-keep-debug beside beside.debug && strip -g beside && "
		   "objcopy --add-gnu-debuglink=beside.debug beside",
		   (char *)*state);
	return 0;
}

struct rig {
	struct elf_file *file;
	uint64_t f; /* the address of f() */
	struct jobs *jobs;
	struct workers *failing, *honest;
};

static struct rig begin(const char *folder, const char *name)
{
	char path[512], *addr;
	struct rig r = { .jobs = jobs__new(),
			 .failing = workers__new(failing),
			 .honest = workers__new(honest) };

	later_s = 0;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	r.file = elf_file__open(path);
	assert_true(r.file && r.jobs && r.failing && r.honest);
	jobs__set_workers(r.jobs, r.failing);
	addr = shell__output("nm -D '%s' | sed -n 's/ T f$//p'", path);
	r.f = strtoull(addr, NULL, 16);
	free(addr);
	return r;
}

static void end(struct rig *r)
{
	elf_file__put(r->file);
	jobs__free(r->jobs);
	workers__put(r->failing);
	workers__put(r->honest);
}

static bool has_rule(struct rig *r)
{
	struct libdw_rules *c = libdw_rules__of(r->file, r->jobs);
	const struct full_rule *rule = libdw_rules__rule(c, r->f, false);

	while (!rule && libdw_rules__awaits(c)) {
		assert_true(jobs__wait(r->jobs, PATIENCE_NS));
		rule = libdw_rules__rule(c, r->f, false);
	}
	return rule;
}

static size_t kept(struct rig *r)
{
	struct libdw_rules_stats s;

	libdw_rules__stats(libdw_rules__of(r->file, r->jobs), &s);
	return s.pcs;
}

static void a_place_without_rule_is_looked_up_again_after_a_retry(void **state)
{
	struct rig r = begin(*state, "beside");

	assert_false(has_rule(&r));
	jobs__set_workers(r.jobs, r.honest);
	assert_false(has_rule(&r));
	assert_int_equal(kept(&r), 0);
	later_s = LATER_S;
	assert_true(has_rule(&r));
	assert_int_equal(kept(&r), 1);
	end(&r);
}

static void frames_serve_while_overrides_are_missing(void **state)
{
	struct rig r = begin(*state, "own");

	assert_true(has_rule(&r));
	assert_false(libdw_rules__is_go(libdw_rules__of(r.file, r.jobs)));
	assert_int_equal(kept(&r), 0);
	jobs__set_workers(r.jobs, r.honest);
	later_s = LATER_S;
	assert_true(has_rule(&r));
	assert_true(libdw_rules__is_go(libdw_rules__of(r.file, r.jobs)));
	assert_int_equal(kept(&r), 1);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_without_rule_is_looked_up_again_after_a_retry),
		cmocka_unit_test(frames_serve_while_overrides_are_missing),
	};

	return cmocka_run_group_tests(tests, build, shell__teardown);
}
