// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/mcp/boundedrun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE_SZ (64u << 10)

extern char **environ;

static int64_t boundedrun_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int boundedrun_spawn_self(char *const *argv, const int writers[BOUNDED_STREAM_CNT],
				 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, writers[BOUNDED_OUT], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, writers[BOUNDED_ERR], STDERR_FILENO);
	err = posix_spawn(pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Reads what a stream has. Returns false at its end, or when it has more than is kept. */
static bool boundedrun_read_some(struct bounded_run *r, enum bounded_stream stream, int fd)
{
	struct buf *text = &r->text[stream];
	uint8_t piece[PIECE_SZ];
	ssize_t sz = read(fd, piece, sizeof(piece));
	size_t room = r->size_max - text->sz;

	if (sz < 0)
		return errno == EINTR;
	if (sz == 0)
		return false;
	buf__append(text, piece, (size_t)sz < room ? (size_t)sz : room);
	if ((size_t)sz <= room)
		return true;
	r->cut = r->cut || stream == BOUNDED_OUT;
	return stream != BOUNDED_OUT; /* messages beyond the bound are dropped */
}

/* Reads both streams until they end, or a bound is reached. */
static void boundedrun_read_streams(struct bounded_run *r, struct pollfd fds[BOUNDED_STREAM_CNT])
{
	int64_t until = boundedrun_now_ms() + (int64_t)r->limit_s * 1000, left;

	while (fds[BOUNDED_OUT].fd >= 0 || fds[BOUNDED_ERR].fd >= 0) {
		left = until - boundedrun_now_ms();
		r->timed_out = left <= 0;
		if (r->timed_out || r->cut)
			return;
		if (poll(fds, BOUNDED_STREAM_CNT, (int)left) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < BOUNDED_STREAM_CNT; i++) {
			if (fds[i].fd >= 0 && fds[i].revents &&
			    !boundedrun_read_some(r, i, fds[i].fd)) {
				close(fds[i].fd);
				fds[i].fd = -1;
			}
		}
	}
}

static void boundedrun_end_child(struct bounded_run *r, pid_t pid)
{
	int status = 0;

	if (r->timed_out || r->cut)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int bounded_run__go(struct bounded_run *r, char *const *argv)
{
	int pipes[BOUNDED_STREAM_CNT][2] = { { -1, -1 }, { -1, -1 } };
	struct pollfd fds[BOUNDED_STREAM_CNT];
	int writers[BOUNDED_STREAM_CNT], err = 0;
	pid_t pid = -1;

	for (int i = 0; i < BOUNDED_STREAM_CNT && !err; i++)
		err = pipe2(pipes[i], O_CLOEXEC) ? -errno : 0;
	for (int i = 0; i < BOUNDED_STREAM_CNT; i++) {
		fds[i] = (struct pollfd){ .fd = pipes[i][0], .events = POLLIN };
		writers[i] = pipes[i][1];
	}
	if (!err)
		err = boundedrun_spawn_self(argv, writers, &pid);
	for (int i = 0; i < BOUNDED_STREAM_CNT; i++)
		if (writers[i] >= 0)
			close(writers[i]);
	if (!err) {
		boundedrun_read_streams(r, fds);
		boundedrun_end_child(r, pid);
	}
	for (int i = 0; i < BOUNDED_STREAM_CNT; i++)
		if (fds[i].fd >= 0)
			close(fds[i].fd);
	return err;
}

void bounded_run__free(struct bounded_run *r)
{
	for (int i = 0; i < BOUNDED_STREAM_CNT; i++)
		buf__free(&r->text[i]);
}
