// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/log.h"

static sigset_t keeper_passed_on(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	return set;
}

/* Ends like the child, which ended without a message: it sends one only if a thread hangs. */
static _Noreturn void keeper_end_like(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	signal(WTERMSIG(status), SIG_DFL);
	prctl(PR_SET_DUMPABLE, 0);
	kill(getpid(), WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

static void keeper_pass_on(int signals, pid_t child)
{
	struct signalfd_siginfo s;

	/* a terminal sends its signals to both processes */
	while (read(signals, &s, sizeof(s)) == sizeof(s))
		if (s.ssi_code != SI_KERNEL)
			kill(child, (int)s.ssi_signo);
}

static _Noreturn void keeper_keep(pid_t child, int word, int signals)
{
	struct pollfd p[] = { { .fd = word, .events = POLLIN },
			      { .fd = signals, .events = POLLIN } };
	unsigned char status;

	/* signalling the child takes no capability: both run as the same user */
	capabilities__keep(0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0);
	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			keeper_end_like(child);
		if (p[1].revents)
			keeper_pass_on(signals, child);
		if (p[0].revents & POLLIN && read(word, &status, 1) == 1)
			_exit(status);
		if (p[0].revents & (POLLIN | POLLHUP))
			keeper_end_like(child);
	}
}

int keeper__begin(void)
{
	sigset_t set = keeper_passed_on(), before;
	pid_t parent = getpid(), child;
	int word[2], signals;

	if (pipe2(word, O_CLOEXEC) != 0)
		return -1;
	sigprocmask(SIG_BLOCK, &set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	child = signals < 0 ? -1 : fork();
	if (child > 0) {
		close(word[1]);
		keeper_keep(child, word[0], signals);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(word[0]);
	if (signals >= 0)
		close(signals);
	if (child < 0) {
		close(word[1]);
		return -1;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(128 + SIGKILL);
	return word[1];
}

bool keeper__detach(struct capture *capture)
{
	bool detached = capture__detach(capture);

	if (!detached)
		log__warn("the kernel has not detached the probes of programs yet; a process may "
			  "keep the lock of its address space: the recording is complete, but a "
			  "child process remains until they are detached");
	return detached;
}

static bool keeper_has_one_thread(void)
{
	DIR *threads = opendir("/proc/self/task");
	size_t cnt = 0;

	while (threads && readdir(threads))
		cnt++;
	if (threads)
		closedir(threads);
	return cnt <= 3; /* ".", ".." and this one */
}

void keeper__end(int fd, int status, bool goes_on)
{
	unsigned char byte = (unsigned char)status;
	int null;

	if (fd < 0 || (!goes_on && keeper_has_one_thread()))
		return;
	if (goes_on)
		prctl(PR_SET_PDEATHSIG, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* a process that cannot end would keep the other ends of pipes waiting */
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	if (write(fd, &byte, 1) != 1)
		_exit(status);
}
