// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/channel.h"
#include "worker/sandbox.h"
#include "worker/sanitized.h"
#include "worker/workrequest.h"

#define CHILDREN_MAX 256
#define USERS_MAX    192 /* children, before another one for a user */
#define STUCK_MAX    4	 /* of one user: children that were killed and have not ended */

struct child {
	pid_t pid;
	uint32_t user; /* worker_user() */
	bool killed;
};

/* Its own children, which are not reaped before they leave this list: their ids cannot be reused
 * while they are in it. */
struct children {
	struct child all[CHILDREN_MAX];
	size_t cnt;
};

/* ---- a worker -----------------------------------------------------------------------------------
 */

/* Before Linux 5.9, closes as many as there can be. */
static void starter_close_from(int fd)
{
	struct rlimit files;

	if (syscall(SYS_close_range, fd, ~0u, 0) == 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	for (; fd < (int)files.rlim_cur; fd++)
		close(fd);
}

/* Closes all descriptors but one, and gives that the number 3. Reports of sanitizers go to stderr.
 */
static void starter_keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
#ifdef SANITIZED
	int standard = STDERR_FILENO;
#else
	int standard = STDERR_FILENO + 1;
#endif

	for (int i = 0; null >= 0 && i < standard; i++)
		dup2(null, i);
	if (fd != STDERR_FILENO + 1)
		dup3(fd, STDERR_FILENO + 1, O_CLOEXEC);
	starter_close_from(STDERR_FILENO + 2);
}

/* A terminal and a service manager also send these signals to workers, which the program needs
 * until its end. They end with it. */
static const int ignored_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE };

static void starter_reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored_signals) / sizeof(*ignored_signals); i++)
		signal(ignored_signals[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void starter_work(int socket, uint32_t lack, const task_fn functions[TASK_CNT])
{
	struct message hello = { .kind = MESSAGE_HELLO };
	enum sandbox_step step = SANDBOX_OPEN;

	/* the starter has /dev/null on the standard descriptors already */
	dup3(socket, STDERR_FILENO + 1, O_CLOEXEC);
	starter_close_from(STDERR_FILENO + 2);
	prctl(PR_SET_NAME, "stacks-worker");
	hello.err = sandbox__close(lack, &step);
	hello.value = step;
	if (channel__send(STDERR_FILENO + 1, hello, NULL, 0, -1) == 0 && !hello.err)
		task__serve(STDERR_FILENO + 1, functions);
	_exit(0);
}

/* ---- the starter --------------------------------------------------------------------------------
 */

static void children_reap(struct children *c)
{
	for (size_t i = 0; i < c->cnt;)
		if (waitpid(c->all[i].pid, NULL, WNOHANG) != 0)
			c->all[i] = c->all[--c->cnt];
		else
			i++;
}

static void children_kill(struct children *c, pid_t pid, uint32_t user)
{
	for (size_t i = 0; i < c->cnt; i++) {
		if (c->all[i].pid != pid)
			continue;
		c->all[i].user = user;
		c->all[i].killed = true;
		kill(pid, SIGKILL);
	}
}

/* A process that waits for a FUSE server does not end before that answers. */
static size_t children_stuck(const struct children *c, uint32_t user)
{
	size_t cnt = 0;

	for (size_t i = 0; i < c->cnt; i++)
		cnt += c->all[i].killed && c->all[i].user == user;
	return cnt;
}

/* Returns 0, or -errno if there may be no other child for this user. */
static int children_may_start(const struct children *c, uint32_t user)
{
	if (user == WORKER_NO_USER)
		return c->cnt < CHILDREN_MAX ? 0 : -EAGAIN;
	if (children_stuck(c, user) >= STUCK_MAX)
		return -ETIMEDOUT;
	return c->cnt < USERS_MAX ? 0 : -EAGAIN;
}

static pid_t children_start(struct children *c, const struct packet *p, uint32_t lack,
			    const task_fn functions[TASK_CNT])
{
	int err = p->fd < 0 ? -EPROTO : children_may_start(c, p->message.value);
	pid_t pid;

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		starter_work(p->fd, lack, functions);
	if (pid < 0)
		return -errno;
	c->all[c->cnt++] = (struct child){ .pid = pid };
	return pid;
}

static _Noreturn void start_workers(uint32_t lack, const task_fn functions[TASK_CNT])
{
	static struct packet p;
	static struct children children;
	const int control = STDERR_FILENO + 1;

	while (channel__receive(control, &p) == 0) {
		children_reap(&children);
		if (p.message.kind == MESSAGE_START) {
			pid_t pid = children_start(&children, &p, lack, functions);
			struct message reply = { .kind = MESSAGE_STARTED,
						 .err = pid < 0 ? pid : 0,
						 .pid = pid };

			channel__send(control, reply, NULL, 0, -1);
		} else if (p.message.kind == MESSAGE_KILL) {
			children_kill(&children, p.message.pid, p.message.value);
		}
		if (p.fd >= 0)
			close(p.fd);
	}
	_exit(0);
}

/* Leaves the namespaces and forks the starter, because process ids change only for children. Tells
 * the program the starter's process id, as the program sees it. */
static _Noreturn void starter_leave(int socket, const task_fn functions[TASK_CNT])
{
	struct message ready = { .kind = MESSAGE_READY };
	uint32_t lack;
	pid_t pid;

	starter_keep_only(socket);
	starter_reset_signals();
	prctl(PR_SET_NAME, "stacks-starter");
	lack = sandbox__leave();
	pid = fork();
	if (pid == 0) {
		lack = sandbox__empty(lack);
		ready.value = lack;
		if (channel__send(STDERR_FILENO + 1, ready, NULL, 0, -1) != 0)
			_exit(1);
		start_workers(lack, functions);
	}
	ready.kind = MESSAGE_STARTED;
	ready.pid = pid;
	ready.err = pid < 0 ? -errno : 0;
	channel__send(STDERR_FILENO + 1, ready, NULL, 0, -1);
	_exit(0);
}

/* ---- the program --------------------------------------------------------------------------------
 */

/* Receives the two first messages, which come in any order. */
static int starter_receive_first(struct starter *s)
{
	bool ready = false, started = false;
	struct packet *p = malloc(sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	while (!err && !(ready && started)) {
		err = channel__receive(s->socket, p);
		if (err)
			break;
		ready |= p->message.kind == MESSAGE_READY;
		started |= p->message.kind == MESSAGE_STARTED;
		if (p->message.kind == MESSAGE_READY)
			s->lack = p->message.value;
		if (p->message.kind == MESSAGE_STARTED) {
			s->pid = p->message.pid;
			err = p->message.err;
		}
	}
	free(p);
	return err;
}

int starter__begin(struct starter *s, const task_fn functions[TASK_CNT])
{
	int sockets[2], err = channel__pair(sockets);
	pid_t child;

	*s = (struct starter){ .socket = -1 };
	if (err)
		return err;
	child = fork();
	if (child == 0)
		starter_leave(sockets[1], functions);
	close(sockets[1]);
	s->socket = sockets[0];
	err = child < 0 ? -errno : starter_receive_first(s);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (err)
		starter__end(s);
	return err;
}

void starter__stop(struct starter *s)
{
	if (s->socket >= 0)
		shutdown(s->socket, SHUT_RDWR);
}

void starter__end(struct starter *s)
{
	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
}

pid_t starter__start(struct starter *s, int socket, uint32_t user)
{
	const struct message start = { .kind = MESSAGE_START, .value = user };
	struct packet *p = malloc(sizeof(*p));
	pid_t pid;
	int err;

	if (!p)
		return -ENOMEM;
	err = channel__send(s->socket, start, NULL, 0, socket);
	if (!err)
		err = channel__receive(s->socket, p);
	if (!err)
		err = p->message.err;
	pid = err ? err : p->message.pid;
	free(p);
	return pid;
}

void starter__kill(struct starter *s, pid_t pid, uint32_t user)
{
	const struct message m = { .kind = MESSAGE_KILL, .pid = pid, .value = user };

	channel__send(s->socket, m, NULL, 0, -1);
}
