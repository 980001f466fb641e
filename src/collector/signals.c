// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const struct {
	int number;
	unsigned bit;
} numbers[] = {
	{ SIGINT, SIGNALS_INTERRUPT },
	{ SIGTERM, SIGNALS_INTERRUPT },
	{ SIGHUP, SIGNALS_HANGUP },
	{ SIGUSR1, SIGNALS_TRIGGER },
};
#define NUMBERS (sizeof(numbers) / sizeof(*numbers))

int signals__open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < NUMBERS; i++)
		sigaddset(&set, numbers[i].number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

unsigned signals__read(int fd)
{
	struct signalfd_siginfo s;
	unsigned bits = 0;

	while (read(fd, &s, sizeof(s)) == sizeof(s))
		for (size_t i = 0; i < NUMBERS; i++)
			if ((int)s.ssi_signo == numbers[i].number)
				bits |= numbers[i].bit;
	return bits;
}
