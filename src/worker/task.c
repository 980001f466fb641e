// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/task.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/channel.h"
#include "worker/memfile.h"

#define TRIM_PAD (1u << 20) /* bytes that are kept for the next answer */

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

/* Makes a file in memory of an answer that fits no message. */
static int task_make_file(struct task *t)
{
	const struct memfile_part part = { t->answer, t->answer_sz };
	int fd = t->answer_sz > CHANNEL_PAYLOAD_MAX ? memfile__make(&part, 1) : -1;

	if (t->answer_sz > CHANNEL_PAYLOAD_MAX && fd < 0)
		return fd;
	t->answer_fd = fd >= 0 ? fd : t->answer_fd;
	return 0;
}

/* Sends the answer, or the error. */
static int task_answer(struct task *t, int err)
{
	struct message m = { .kind = MESSAGE_ANSWER, .err = err ? err : task_make_file(t) };

	if (m.err)
		return channel__send(t->socket, m, NULL, 0, -1);
	if (t->answer_fd >= 0)
		return channel__send(t->socket, m, NULL, 0, t->answer_fd);
	return channel__send(t->socket, m, t->answer, t->answer_sz, -1);
}

static int task_run(struct task *t, const task_fn functions[TASK_CNT], uint32_t number)
{
	int err = number < TASK_CNT && functions[number] ? functions[number](t) : -ENOSYS;

	if (t->fd >= 0)
		close(t->fd);
	err = task_answer(t, err);
	free(t->answer);
	if (t->answer_fd >= 0) {
		close(t->answer_fd);
		malloc_trim(TRIM_PAD); /* large answers leave free memory behind */
	}
	return err;
}

void task__serve(int socket, const task_fn functions[TASK_CNT])
{
	static struct packet p; /* 16 KiB */

	while (channel__receive(socket, &p) == 0) {
		struct task t = { .request = p.payload,
				  .request_sz = p.sz,
				  .fd = p.fd,
				  .answer_fd = -1,
				  .socket = socket };

		if (p.message.kind != MESSAGE_REQUEST || task_run(&t, functions, p.message.value))
			return;
	}
}
