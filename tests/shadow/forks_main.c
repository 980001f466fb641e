// SPDX-License-Identifier: GPL-2.0-or-later
/* fork, vfork, posix_spawn and exec at some depth. With an argument, it is the executed program. */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

extern char **environ;
static volatile long sink;
static char *self[] = { NULL, "child", NULL };

static NOINLINE void descend(int depth, void (*at_end)(void))
{
	volatile long v[4] = { depth };

	if (depth)
		descend(depth - 1, at_end);
	else
		at_end();
	sink += v[0];
}

static void nothing(void)
{
	sink++;
}

static void by_fork(void)
{
	if (fork() == 0) {
		descend(3, nothing);
		_exit(0);
	}
	wait(NULL);
}

static void by_vfork(void)
{
	if (vfork() == 0) {
		descend(3, nothing);
		_exit(0);
	}
	wait(NULL);
}

static void by_exec(void)
{
	if (vfork() == 0) {
		execv("/proc/self/exe", self);
		_exit(1);
	}
	wait(NULL);
}

static void by_spawn(void)
{
	pid_t pid;

	posix_spawn(&pid, "/proc/self/exe", NULL, NULL, self, environ);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	self[0] = argv[0];
	descend(2, nothing);
	if (argc > 1)
		return 0;
	descend(2, by_fork);
	descend(2, by_vfork);
	descend(1, by_exec);
	descend(1, by_spawn);
	return 0;
}
