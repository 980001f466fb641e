// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/alloctask.h"

#include <stdlib.h>
#include <string.h>

#include "elf/remotefile.h"

static bool alloc_answer_is_sound(const void *answer, size_t sz, void *file)
{
	return answer && sz == sizeof(struct alloc_functions) &&
	       alloc_functions__are_sound(file, answer);
}

int alloc_task__find(struct workers *w, const struct elf_file *f, struct alloc_functions *out)
{
	const struct remote_file question = remote_file__of(f);
	const struct worker_request request = { .kind = TASK_ALLOCATORS,
						.owner = remote_file__owner(f),
						.path = f->path,
						.data = &question,
						.sz = sizeof(question),
						.fd = f->fd,
						.answer_max = sizeof(*out),
						.check = alloc_answer_is_sound,
						.arg = (void *)f };
	void *answer;
	size_t sz;
	int err;

	if (!w)
		return alloc_functions__find(f, out);
	err = workers__request(w, &request, &answer, &sz);
	if (!err)
		memcpy(out, answer, sz);
	free(answer);
	return err;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

static int alloctask_answer(struct task *t, const struct remote_file *question, struct elf_file *f)
{
	struct alloc_functions *found = calloc(1, sizeof(*found));

	(void)question;
	t->answer = found;
	t->answer_sz = sizeof(*found);
	return found ? alloc_functions__find(f, found) : -ENOMEM;
}

int alloc_task__run(struct task *t)
{
	struct remote_file question;

	return remote_file__answer(t, &question, sizeof(question), alloctask_answer);
}
