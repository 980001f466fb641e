// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/gdblisttask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool gdblisttask_is_sound(const void *answer, size_t sz, void *arg)
{
	(void)arg;
	return answer && gdb_list__is_sound(answer, sz);
}

static struct gdb_list *gdblisttask_ask(const struct gdb_list_source *s, size_t *sz)
{
	char name[64];
	struct stat st = { 0 };
	struct worker_request request = { .kind = TASK_IMAGES,
					  .path = name,
					  .data = &s->first,
					  .sz = sizeof(s->first),
					  .fd = s->mem,
					  .answer_max = GDB_LIST_MAX,
					  .check = gdblisttask_is_sound };
	void *answer;
	int err;

	fstat(s->mem, &st);
	request.owner = worker_owner(st.st_dev, st.st_uid);
	snprintf(name, sizeof(name), "the list for gdb of process %u", s->tgid);
	err = workers__request(s->workers, &request, &answer, sz);
	errno = -err;
	return answer;
}

struct gdb_list *gdb_list_task__read(const struct gdb_list_source *s, size_t *sz)
{
	return s->workers ? gdblisttask_ask(s, sz) : gdb_list__read(s->mem, s->first, sz);
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

int gdb_list_task__run(struct task *t)
{
	uint64_t first;

	if (t->request_sz != sizeof(first))
		return -EINVAL;
	memcpy(&first, t->request, sizeof(first));
	t->answer = gdb_list__read(t->fd, first, &t->answer_sz);
	return t->answer ? 0 : -errno;
}
