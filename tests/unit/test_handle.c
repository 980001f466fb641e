// SPDX-License-Identifier: GPL-2.0-or-later
/* Files opened by the number of their handle: of this process, also in a child. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/handle.h"
#include "lib/shell.h"

static int reopened(const char *dir, const char *name, const struct own_files *own)
{
	char path[256];
	int handle, fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	handle = handle__open(path);
	assert_true(handle >= 0);
	fd = handle__reopen(handle, own);
	close(handle);
	return fd;
}

/* The file contains its own name. */
static void check(const char *dir, const char *name, const struct own_files *own)
{
	int fd = reopened(dir, name, own);
	char text[16] = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), strlen(name));
	assert_string_equal(text, name);
	close(fd);
}

static void a_handle_reads_its_process(void **state)
{
	struct own_files own = own_files__new(), none = { .dir = -1, .pid = getpid() };

	shell__write(*state, "one", "one");
	check(*state, "one", &own);
	check(*state, "one", &none);
	check(*state, "one", NULL);
	own_files__close(own);
	own_files__close(none);
}

/* The number is another file in the child. */
static void a_child_has_its_own(void **state)
{
	struct own_files own = own_files__new();
	int number = handle__open(*state), status;
	pid_t pid;

	shell__write(*state, "one", "one");
	shell__write(*state, "two", "two");
	pid = fork();
	if (pid == 0) {
		close(number);
		check(*state, "two", &own); /* by that number */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(number);
	own_files__close(own);
}

/* If the file system supports it. */
static void reading_leaves_no_trace(void **state)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 2000 } };
	struct own_files own = own_files__new();
	char *path = shell__output("printf %%s %s/one", (char *)*state);
	struct stat st;

	shell__write(*state, "one", "one");
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	check(*state, "one", &own);
	assert_int_equal(stat(path, &st), 0);
	if (geteuid() == 0)
		assert_int_equal(st.st_atim.tv_sec, 1000);
	free(path);
	own_files__close(own);
}

static void a_handle_never_waits(void **state)
{
	int fd;

	shell__run("mkfifo %s/fifo", (char *)*state);
	fd = reopened(*state, "fifo", NULL); /* it has no writer */
	assert_true(fd >= 0);
	close(fd);
	assert_true(handle__reopen(9999, NULL) == -ENOENT);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(a_handle_reads_its_process, shell__setup,
					  shell__teardown),
	  cmocka_unit_test_setup_teardown(a_child_has_its_own, shell__setup, shell__teardown),
	  cmocka_unit_test_setup_teardown(reading_leaves_no_trace, shell__setup, shell__teardown),
	  cmocka_unit_test_setup_teardown(a_handle_never_waits, shell__setup, shell__teardown))
