// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/codetask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "jit/jitdump.h"
#include "jit/perfmap.h"

typedef int (*code_reader)(struct code_progress *, const struct code_part *, struct code_list *);

static const struct {
	code_reader read;
	uint64_t part_sz; /* bytes of the file in one request */
	const char *name; /* for messages */
} formats[CODE_FORMAT_CNT] = {
	[CODE_DUMP] = { jitdump__read, 64u << 20, "jitdump" },
	[CODE_MAP] = { perfmap__read, 16u << 20, "perf map" },
};

/* The request, as it is sent. */
struct code_question {
	struct code_progress at;
	uint64_t end, part_end;
	uint32_t format, zero;
};

struct code_check {
	uint64_t from, end;
};

static bool code_answer_is_sound(const void *answer, size_t sz, void *arg)
{
	const struct code_check *c = arg;

	return answer && code_block__is_sound(answer, sz, c->from, c->end);
}

static uint64_t code_file_owner(const struct code_file *f)
{
	struct stat st = { 0 };

	fstat(f->fd, &st);
	return worker_owner(st.st_dev, st.st_uid);
}

static int code_file_request(const struct code_file *f, const struct code_question *q,
			     struct code_list *list, struct code_progress *at)
{
	struct code_check check = { q->at.off, q->end };
	char name[64];
	const struct worker_request request = { .kind = TASK_CODE,
						.owner = code_file_owner(f),
						.path = name,
						.data = q,
						.sz = sizeof(*q),
						.fd = f->fd,
						.answer_max = CODE_BLOCK_MAX,
						.check = code_answer_is_sound,
						.arg = &check };
	void *answer;
	size_t sz;
	int err;

	snprintf(name, sizeof(name), "%s of process %u", formats[f->format].name, f->tgid);
	err = workers__request(f->workers, &request, &answer, &sz);
	if (err)
		return err;
	*list = code_list__of_block(answer);
	*at = ((const struct code_result *)answer)->at;
	return ((const struct code_result *)answer)->err;
}

int code_task__read(const struct code_file *f, struct code_progress *at, struct code_list *list,
		    bool *more)
{
	uint64_t from = at->off, part_sz = formats[f->format].part_sz;
	const struct code_part part = { f->fd, f->end, from + part_sz };
	const struct code_question q = {
		.at = *at, .end = part.end, .part_end = part.until, .format = f->format
	};
	int err;

	*list = (struct code_list){ 0 };
	if (f->workers)
		err = code_file_request(f, &q, list, at);
	else
		err = formats[f->format].read(at, &part, list);
	*more = !err && (code_list__is_full(list) || at->off - from >= part_sz);
	return err ? err : code_list__err(list);
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

int code_task__run(struct task *t)
{
	struct code_list list = { 0 };
	struct code_question q;
	struct code_part part;
	int err;

	if (t->request_sz != sizeof(q))
		return -EINVAL;
	memcpy(&q, t->request, sizeof(q));
	if (q.format >= CODE_FORMAT_CNT)
		return -EINVAL;
	part = (struct code_part){ t->fd, q.end, q.part_end };
	err = formats[q.format].read(&q.at, &part, &list);
	if (!code_list__err(&list))
		t->answer = code_block__of(&list, &q.at, err, &t->answer_sz);
	code_list__free(&list);
	return t->answer ? 0 : -ENOMEM;
}
