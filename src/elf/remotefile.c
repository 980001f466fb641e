// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/remotefile.h"

#include <errno.h>
#include <string.h>

struct remote_file remote_file__of(const struct elf_file *f)
{
	return (struct remote_file){ .build_id = f->build_id, .trusted = f->trusted };
}

uint64_t remote_file__owner(const struct elf_file *f)
{
	return f->trusted ? WORKER_TRUSTED : worker_owner(f->dev, f->owner);
}

static int remote_open_debug(const struct debug_query *q, void *task)
{
	return task__want(task, q, sizeof(*q));
}

int remote_file__answer(struct task *t, struct remote_file *question, size_t sz,
			remote_answer_fn answer)
{
	const struct debug_opener opener = { remote_open_debug, t };
	struct elf_file *f;
	int err;

	if (t->request_sz != sz)
		return -EINVAL;
	memcpy(question, t->request, sz);
	f = elf_file__new(t->fd, "");
	t->fd = -1;
	if (!f)
		return -errno;
	f->build_id = question->build_id;
	f->trusted = question->trusted;
	f->debug_opener = &opener;
	err = answer(t, question, f);
	elf_file__put(f);
	return err;
}
