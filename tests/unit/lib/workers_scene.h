/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workers do in test_workers.c: what a request asks for, right and wrong answers. */
#ifndef WORKERS_SCENE_H
#define WORKERS_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/channel.h"
#include "worker/memfile.h"
#include "worker/sanitized.h"
#include "worker/task.h"

#define LARGE (1u << 20)

static void answer_with(struct task *t, const void *data, size_t sz)
{
	t->answer = malloc(sz);
	memcpy(t->answer, data, sz);
	t->answer_sz = sz;
}

static int echo(struct task *t)
{
	answer_with(t, (const char *)t->request + 1, t->request_sz - 1);
	return 0;
}

static int large(struct task *t)
{
	t->answer = calloc(1, LARGE);
	memset(t->answer, 'x', LARGE);
	t->answer_sz = LARGE;
	return 0;
}

/* Returns an error, because it has sent an answer of its own. */
static int send_own(struct task *t, const void *data, size_t sz, const int *fds, size_t fd_cnt)
{
	char control[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct message m = { .kind = MESSAGE_ANSWER };
	struct iovec parts[] = { { &m, sizeof(m) }, { (void *)data, sz } };
	struct msghdr head = { .msg_iov = parts, .msg_iovlen = 2 };
	struct cmsghdr *c = (struct cmsghdr *)(void *)control;

	if (fd_cnt) {
		head.msg_control = control;
		head.msg_controllen = CMSG_SPACE(fd_cnt * sizeof(int));
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(fd_cnt * sizeof(int)) };
		memcpy(CMSG_DATA(c), fds, fd_cnt * sizeof(int));
	}
	sendmsg(t->socket, &head, MSG_NOSIGNAL);
	_exit(0);
}

static int unsealed(struct task *t)
{
	int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (write(fd, "x", 1) != 1)
		return -EIO;
	return send_own(t, "", 0, &fd, 1);
}

static int too_many(struct task *t)
{
	int fds[4];

	for (int i = 0; i < 4; i++)
		fds[i] = memfile__make(&(struct memfile_part){ "x", 1 }, 1);
	return send_own(t, "", 0, fds, 4);
}

static int empty_file(struct task *t)
{
	int fd = memfile__make(NULL, 0);

	return send_own(t, "", 0, &fd, 1);
}

static int no_memory_file(struct task *t)
{
	return send_own(t, "", 0, &t->fd, 1);
}

static int truncated(struct task *t)
{
	sendmsg(t->socket,
		&(struct msghdr){ .msg_iov = &(struct iovec){ "x", 1 }, .msg_iovlen = 1 },
		MSG_NOSIGNAL);
	_exit(0);
}

static int die(struct task *t)
{
	(void)t;
	_exit(1);
}

static int wait_for_ever(struct task *t)
{
	static struct packet p;

	return channel__receive(t->socket, &p);
}

static int want_for_ever(struct task *t)
{
	while (task__want(t, "more", 5) != -EPIPE)
		;
	return -EIO;
}

static int want_one(struct task *t)
{
	char text[16] = "";
	int fd = task__want(t, "one", 4);
	ssize_t sz = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);

	if (sz <= 0)
		return -EIO;
	answer_with(t, text, (size_t)sz);
	return 0;
}

#define REFUSED(call) ((call) < 0 && errno == EPERM)

/* Answers with a letter for each thing that is allowed and should not be. */
static int try_everything(struct task *t)
{
	char found[16];
	size_t n = 0;

	found[n++] = '.';
#ifndef SANITIZED
	if (!REFUSED(open("/", O_RDONLY | O_CLOEXEC)))
		found[n++] = 'o';
#endif
	if (!REFUSED(socket(AF_INET, SOCK_STREAM, 0)))
		found[n++] = 's';
	if (!REFUSED(fork()))
		found[n++] = 'f';
	if (!REFUSED(kill(1, 0)))
		found[n++] = 'k';
	if (!REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL)))
		found[n++] = 'p';
	if (!REFUSED(execl("/bin/true", "true", NULL)))
		found[n++] = 'e';
	if (!REFUSED(unshare(CLONE_NEWUSER)))
		found[n++] = 'u';
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		found[n++] = 'm';
	if (!REFUSED(memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB)))
		found[n++] = 'h';
	if (!REFUSED(fcntl(t->socket, F_SETOWN, 1)))
		found[n++] = 'w';
	answer_with(t, found, n);
	return 0;
}

/* The first byte of a request, and what a worker then does. */
static const struct {
	char what;
	task_fn run;
} deeds[] = {
	{ 'e', echo },		{ 'l', large },	     { 'u', unsealed },
	{ 'm', too_many },	{ '0', empty_file }, { 'f', no_memory_file },
	{ 't', truncated },	{ 'd', die },	     { 'w', wait_for_ever },
	{ 'W', want_for_ever }, { '1', want_one },   { 'T', try_everything },
};

static int run_deed(struct task *t)
{
	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++)
		if (t->request_sz && deeds[i].what == *(const char *)t->request)
			return deeds[i].run(t);
	return table_task__run(t);
}

static const task_fn functions[TASK_CNT] = { [TASK_TABLE] = run_deed };

#endif
