// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the kernel's symbols takes longer than a short recording. */
#include "lib/capture_take.h"
#include "lib/shell.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stacks/kernelnames.h"
#include "lib/session_rig.h"

/* In a private mount namespace the symbols come from a pipe. */
static void let_symbols_come_from(const char *fifo)
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount(fifo, "/proc/kallsyms", NULL, MS_BIND, NULL), 0);
}

/* Opens it as soon as there is a reader. */
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

static void finish_before_they_are_read(const char *fifo)
{
	static const char lines[] = "ffffffff81000000 T _text\nffffffff81000100 T vfs_read\n";
	struct event *e = calloc(1, sizeof(*e) + sizeof(uint64_t));
	struct session_rig r;

	let_symbols_come_from(fifo);
	if (fork() == 0) {
		int fd = open_for_writing(fifo);

		usleep(3000000);
		_exit(write(fd, lines, strlen(lines)) < 0);
	}
	r = session_rig__new("block:k");
	*e = session_rig__slice(&r, 1, 0, 1);
	e->kind = EVENT_BLK_READ;
	e->kstack_sz = sizeof(uint64_t);
	*(uint64_t *)(void *)e->data = 0xffffffff81000110;
	session_rig__record(&r, e);
	session_rig__finish(&r);
	duck__reads(r.dir, "SELECT frames[1].name FROM stacktraces", "vfs_read\n");
	session_rig__free(&r);
	free(e);
}

/* In a child process, because other tests would also get these symbols. */
static void in_a_child(void (*fn)(const char *fifo))
{
	char *dir, fifo[4096];
	int status;
	pid_t pid;

	assert_int_equal(shell__setup((void **)&dir), 0);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	pid = fork();
	if (pid == 0) {
		fn(fifo);
		_exit(0); /* pending data is lost, as at the collector's end */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	shell__teardown((void **)&dir);
}

/* A thread that still reads them writes to no freed memory: a sanitizer checks. */
static void a_slow_reader_is_left_behind(void **state)
{
	(void)state;
	in_a_child(read_when_all_is_gone);
}

static void a_short_recording_waits_for_them(void **state)
{
	(void)state;
	in_a_child(finish_before_they_are_read);
}

RUN_TESTS(ROOT_TEST(a_slow_reader_is_left_behind), ROOT_TEST(a_short_recording_waits_for_them))
