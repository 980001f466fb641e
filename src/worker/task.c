// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/task.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/channel.h"
#include "worker/memfile.h"

#define TRIM_SZ (1u << 20) /* larger answers leave free memory behind */

int task__want(struct task *t, const void *what, size_t sz)
{
	struct packet reply;
	int err = channel__send(t->socket, (struct message){ .kind = MESSAGE_WANT }, what, sz, -1);

	if (!err)
		err = channel__receive(t->socket, &reply);
	if (err)
		return err;
	if (reply.message.kind == MESSAGE_GIVE && reply.fd >= 0)
		return reply.fd;
	if (reply.fd >= 0)
		close(reply.fd);
	return reply.message.err < 0 ? reply.message.err : -EPROTO;
}

static int task_answer(const struct task *t, int err)
{
	struct message m = { .kind = MESSAGE_ANSWER, .err = err };
	int fd;

	if (err || t->answer_sz <= CHANNEL_PAYLOAD_MAX)
		return channel__send(t->socket, m, t->answer, err ? 0 : t->answer_sz, -1);
	fd = memfile__make(t->answer, t->answer_sz);
	if (fd < 0) {
		m.err = fd;
		return channel__send(t->socket, m, NULL, 0, -1);
	}
	err = channel__send(t->socket, m, NULL, 0, fd);
	close(fd);
	return err;
}

static int task_run(struct task *t, const task_fn functions[TASK_CNT], uint32_t number)
{
	int err = number < TASK_CNT && functions[number] ? functions[number](t) : -ENOSYS;

	if (t->fd >= 0)
		close(t->fd);
	err = task_answer(t, err);
	free(t->answer);
	if (t->answer_sz > TRIM_SZ)
		malloc_trim(0);
	return err;
}

void task__serve(int socket, const task_fn functions[TASK_CNT])
{
	static struct packet p; /* 16 KiB */

	while (channel__receive(socket, &p) == 0) {
		struct task t = {
			.request = p.payload, .request_sz = p.sz, .fd = p.fd, .socket = socket
		};

		if (p.message.kind != MESSAGE_REQUEST || task_run(&t, functions, p.message.value))
			return;
	}
}
