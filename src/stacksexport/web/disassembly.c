// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/disassembly.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"

#define OUTPUT_MAX (4u << 20)
#define LIMIT_NS   10000000000ull

extern char **environ;

/* Makes stdin and stderr /dev/null, and stdout the pipe. */
static int disassembly_spawn_objdump(char *const argv[], int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Reads until the end, the time limit or the size limit. */
static int disassembly_read_output(int fd, struct buf *out)
{
	uint64_t until = monotonic__ns() + LIMIT_NS, now;
	struct pollfd p = { fd, POLLIN, 0 };
	char bytes[65536];
	ssize_t sz = 1;

	while (sz > 0 && out->sz < OUTPUT_MAX && (now = monotonic__ns()) < until) {
		if (poll(&p, 1, (int)((until - now) / 1000000)) <= 0)
			continue;
		sz = read(fd, bytes, sizeof(bytes));
		if (sz > 0)
			buf__append(out, bytes, (size_t)sz);
	}
	return buf__err(out) ? -ENOMEM : sz < 0 ? -errno : sz > 0 ? -E2BIG : 0;
}

static int disassembly_run_objdump(char *const argv[], struct buf *out)
{
	int fds[2], err, status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	err = disassembly_spawn_objdump(argv, fds[1], &pid);
	close(fds[1]);
	if (!err) {
		err = disassembly_read_output(fds[0], out);
		if (err)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fds[0]);
	return err;
}

int disassembly__read(const struct disassembly_range *r, struct buf *out)
{
	char start[64], end[64];
	char *argv[] = { (char *)"objdump",
			 (char *)"-d",
			 (char *)"-C",
			 (char *)"--no-show-raw-insn",
			 start,
			 end,
			 (char *)r->path,
			 NULL };

	snprintf(start, sizeof(start), "--start-address=0x%" PRIx64, r->start);
	snprintf(end, sizeof(end), "--stop-address=0x%" PRIx64, r->end);
	return disassembly_run_objdump(argv, out);
}

static bool instruction_parse(struct instruction *i, const char *line, size_t sz)
{
	const char *colon = memchr(line, ':', sz);
	char digits[32], *end;
	size_t digits_sz = colon ? (size_t)(colon - line) : 0;

	if (!digits_sz || digits_sz >= sizeof(digits) || (size_t)(colon + 1 - line) >= sz ||
	    colon[1] != '\t')
		return false;
	memcpy(digits, line, digits_sz);
	digits[digits_sz] = '\0';
	i->address = strtoull(digits, &end, 16);
	i->text = colon + 2;
	i->sz = sz - digits_sz - 2;
	return !*end;
}

bool instruction__next(struct instruction *i, const char **at, const char *end)
{
	while (*at < end) {
		const char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));
		size_t sz = newline ? (size_t)(newline - line) : (size_t)(end - line);

		*at = line + sz + (newline != NULL);
		if (instruction_parse(i, line, sz))
			return true;
	}
	return false;
}
