// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/remotefile.h"

struct remote_file remote_file__of(const struct elf_file *f)
{
	return (struct remote_file){ .build_id = f->build_id, .trusted = f->trusted };
}

uint64_t remote_file__owner(const struct elf_file *f)
{
	return f->trusted ? WORKER_TRUSTED : worker_owner(f->dev, f->owner);
}

static int remote_open_debug(const struct debug_query *q, void *arg)
{
	struct remote_opener *o = arg;

	return task__want(o->task, q, sizeof(*q));
}

struct elf_file *remote_file__open(struct task *t, const struct remote_file *r,
				   struct remote_opener *opener)
{
	struct elf_file *f = elf_file__new(t->fd, "");

	t->fd = -1;
	if (!f)
		return NULL;
	*opener = (struct remote_opener){ .base = { remote_open_debug, opener }, .task = t };
	f->build_id = r->build_id;
	f->trusted = r->trusted;
	f->debug_opener = &opener->base;
	return f;
}
