// SPDX-License-Identifier: GPL-2.0-or-later
/* The user that is responsible for a process: the real user, whatever the process does to look like
 * another. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/jobs.h"
#include "process/crowd.h"

#define USER 54321

static void become_user(void)
{
	if (syscall(SYS_setresgid, USER, USER, USER) || syscall(SYS_setresuid, USER, USER, USER))
		_exit(1);
}

static void become_user_that_cannot_be_dumped(void)
{
	become_user();
	if (prctl(PR_SET_DUMPABLE, 0))
		_exit(1);
}

static void stay(void)
{
}

static void keep_real_user(void)
{
	if (syscall(SYS_setresuid, USER, 0, 0))
		_exit(1);
}

static void enter_namespace(void)
{
	become_user();
	if (unshare(CLONE_NEWUSER))
		_exit(1);
}

/* Returns crowd__of() of a child that has called `become`, or skips the test if it cannot. */
static uint64_t crowd_of_child(void (*become)(void), uint64_t *lane)
{
	int ready[2], go[2], proc = open("/proc", O_RDONLY | O_DIRECTORY);
	uint64_t crowd;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		become();
		_exit(write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		skip();
	}
	crowd = crowd__of(proc, (uint32_t)pid);
	if (lane)
		*lane = crowd__lane(proc, (uint32_t)pid);
	close(go[1]);
	close(go[0]);
	close(ready[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(crowd__of(proc, (uint32_t)pid), 0);
	close(proc);
	return crowd;
}

static void root_is_no_crowd(void **state)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY);

	(void)state;
	if (getuid() == 0)
		assert_true(crowd__of(proc, (uint32_t)getpid()) == JOB_CROWD_ROOT);
	close(proc);
}

static void a_user_is_a_crowd(void **state)
{
	(void)state;
	assert_int_equal(crowd_of_child(become_user, NULL), USER + 1);
}

static void an_undumpable_process_belongs_to_its_user(void **state)
{
	(void)state;
	assert_int_equal(crowd_of_child(become_user_that_cannot_be_dumped, NULL), USER + 1);
}

static void a_setuid_program_belongs_to_its_user(void **state)
{
	(void)state;
	assert_int_equal(crowd_of_child(keep_real_user, NULL), USER + 1);
}

static void a_namespace_belongs_to_its_creator(void **state)
{
	(void)state;
	assert_int_equal(crowd_of_child(enter_namespace, NULL), USER + 1);
}

static void users_have_lanes_of_their_own(void **state)
{
	uint64_t one, other;

	(void)state;
	crowd_of_child(become_user, &one);
	crowd_of_child(become_user_that_cannot_be_dumped, &other);
	assert_true(one == other);
	crowd_of_child(stay, &other);
	assert_true(one != other);
	assert_true(one >> 63); /* no device */
}

#define T(f) cmocka_unit_test(f)

RUN_TESTS(T(root_is_no_crowd), T(a_user_is_a_crowd), T(an_undumpable_process_belongs_to_its_user),
	  T(a_setuid_program_belongs_to_its_user), T(a_namespace_belongs_to_its_creator),
	  T(users_have_lanes_of_their_own))
