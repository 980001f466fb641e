/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real samples for tests: processes stopped by ptrace, and their stacks as events. */
#ifndef UNIT_LIVE_RIG_H
#define UNIT_LIVE_RIG_H

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "event/record.h"

/* Waits until the child has begun its program, which closes its end of the pipe: a child of a test
 * with ThreadSanitizer has one more thread before. */
static inline void live__await_exec(const int pipe[2])
{
	char byte;

	close(pipe[1]);
	assert_int_equal(read(pipe[0], &byte, 1), 0);
	close(pipe[0]);
}

/* Starts a program that dies with the test. If it is traced, it stops before its first instruction.
 */
static inline pid_t live__start(const char *const argv[], bool traced)
{
	int status, begun[2];
	pid_t pid;

	assert_int_equal(pipe2(begun, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		if (traced)
			ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (traced) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
	}
	live__await_exec(begun);
	return pid;
}

/* Stops a running thread; release it before the next signal. */
static inline bool live__interrupt(pid_t tid)
{
	int status;

	return ptrace(PTRACE_SEIZE, tid, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 &&
	       waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

static inline void live__let_go(pid_t tid)
{
	ptrace(PTRACE_DETACH, tid, 0, 0);
}

static inline void live__kill(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* ---- state of a thread: waits up to a minute, for busy machines ---- */

#define LIVE_LOOKS 60000 /* of at least a millisecond */

/* Reads the first line of a file of a thread in /proc, from `after` on; "" if there is none. */
static inline void live__read(pid_t tid, const char *name, char after, char line[512])
{
	char path[64], *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	f = fopen(path, "r");
	if (!f || !fgets(line, 512, f))
		line[0] = '\0';
	if (f)
		fclose(f);
	at = after ? strrchr(line, after) : NULL;
	if (at)
		memmove(line, at + 1, strlen(at));
}

/* Waits until the thread is in that state: 'S' asleep, 'T' stopped. */
static inline void live__wait_state(pid_t tid, char state)
{
	char line[512] = "";

	for (int i = 0; line[0] != ' ' || line[1] != state; i++) {
		assert_true(i < LIVE_LOOKS);
		live__read(tid, "stat", ')', line);
		usleep(1000);
	}
}

/* Waits until the thread is in that system call. */
static inline void live__wait_in(pid_t tid, long nr)
{
	char line[512] = "", *end = line;

	for (int i = 0; end == line || strtol(line, NULL, 10) != nr; i++) {
		assert_true(i < LIVE_LOOKS);
		live__read(tid, "syscall", 0, line); /* "running", or a number first */
		strtol(line, &end, 10);
		usleep(1000);
	}
}

/* Returns the CPU time of a process. */
static inline uint64_t live__cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Waits until the process has used that much more CPU time. */
static inline void live__wait_cpu(pid_t pid, uint64_t ns)
{
	uint64_t until_ns = live__cpu_ns(pid) + ns;

	for (int i = 0; live__cpu_ns(pid) < until_ns; i++) {
		assert_true(i < LIVE_LOOKS);
		usleep(1000);
	}
}

/* Returns the threads of a process, at most max. */
static inline size_t live__threads(pid_t pid, pid_t *tids, size_t max)
{
	char path[64];
	struct dirent *entry;
	size_t cnt = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && cnt < max)
		if (entry->d_name[0] != '.')
			tids[cnt++] = (pid_t)atoi(entry->d_name);
	if (dir)
		closedir(dir);
	return cnt;
}

/* ---- samples ---- */

#ifdef __aarch64__
/* x0..x30 sp pc pstate */
static inline void live__regs(const struct user_regs_struct *u, __u64 regs[EVENT_REG_CNT])
{
	memcpy(regs, u, EVENT_REG_CNT * sizeof(*regs));
}
#else
static inline void live__regs(const struct user_regs_struct *u, __u64 regs[EVENT_REG_CNT])
{
	const __u64 in_order[EVENT_REG_CNT] = { u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi,
						u->rbp, u->rsp, u->r8,	u->r9,	u->r10, u->r11,
						u->r12, u->r13, u->r14, u->r15, u->rip };

	memcpy(regs, in_order, sizeof(in_order));
}
#endif

/* Returns the end of the mapping with addr, or 0. */
static inline uint64_t live__map_end(pid_t pid, uint64_t addr)
{
	char path[64], line[4352];
	unsigned long start, end = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && addr >= start && addr < end)
			break;
		end = 0;
	}
	if (maps)
		fclose(maps);
	return end;
}

/* Returns memory for an event with the largest stack. */
static inline struct event *live__event(void)
{
	struct event *e = calloc(1, sizeof(*e) + EVENT_STACK_MAX);

	assert_non_null(e);
	return e;
}

/*
 * Fills the event from a stopped thread, like the collector: the stack from below the red zone to
 * its end (`top`; 0: the end of the mapping), at most max bytes.
 */
static inline void live__capture(pid_t tid, struct event *e, uint64_t top, size_t max)
{
	struct user_regs_struct u;
	struct iovec local, remote, regs = { &u, sizeof(u) };
	ssize_t got;

	assert_int_equal(ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &regs), 0);
	memset(e, 0, sizeof(*e));
	live__regs(&u, e->regs);
	if (!top)
		top = live__map_end(tid, e->regs[EVENT_REG_SP]);
	e->flags = EVENT_F_USER;
	e->tgid = e->tid = (uint32_t)tid;
	e->stack_addr = e->regs[EVENT_REG_SP] - EVENT_RED_ZONE;
	local = (struct iovec){ e->data, top > e->stack_addr ? top - e->stack_addr : 0 };
	if (local.iov_len > max) {
		local.iov_len = max;
		e->flags |= EVENT_F_TRUNCATED;
	}
	remote = (struct iovec){ (void *)e->stack_addr, local.iov_len };
	got = process_vm_readv(tid, &local, 1, &remote, 1, 0);
	e->ustack_sz = got > 0 ? (uint32_t)got : 0;
}

#endif
