// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's symbols take longer than a short recording. */
#include "capture_take.h"
#include "shell.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/kernelnames.h"

/* In a mount namespace of this process's own the symbols come from a pipe. */
static void let_symbols_come_from(const char *fifo)
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount(fifo, "/proc/kallsyms", NULL, MS_BIND, NULL), 0);
}

/* When somebody reads there. */
static int open_for_writing(const char *fifo)
{
	int fd;

	while ((fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		usleep(1000);
	return fd;
}

static void wait_for_threads(void)
{
	struct stat st;

	while (stat("/proc/self/task", &st) == 0 && st.st_nlink > 3) /* ".", "..", this one */
		usleep(1000);
}

static void read_when_all_is_gone(const char *fifo)
{
	static const char line[] = "ffffffff81000000 T _text\n";
	struct jobs *jobs;
	struct kernel_names *names;
	int fd;

	let_symbols_come_from(fifo);
	jobs = jobs__new();
	names = kernel_names__new(jobs, NULL);
	fd = open_for_writing(fifo);
	assert_false(jobs__free(jobs));
	assert_false(kernel_names__ready(names));
	kernel_names__free(names);
	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	close(fd);
	wait_for_threads();
}

/* A thread that is left behind with the symbols writes to nothing that is gone: a sanitizer looks.
 */
static void who_reads_them_is_left_behind(void **state)
{
	char *dir, fifo[4096];
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(shell__setup((void **)&dir), 0);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	pid = fork();
	if (pid == 0) {
		read_when_all_is_gone(fifo);
		_exit(0); /* what it has in hand is lost, as it is when the collector ends */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	shell__teardown((void **)&dir);
}

RUN_TESTS(ROOT_TEST(who_reads_them_is_left_behind))
