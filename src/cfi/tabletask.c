// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/tabletask.h"

#include <errno.h>
#include <string.h>

#include "cfi/tablebuild.h"
#include "elf/debugfile.h"
#include "elf/remotefile.h"

/* Bytes of the largest table. */
#define TABLE_SZ_MAX                                                           \
	(sizeof(struct cfi_table) + TABLE_ROW_MAX * sizeof(struct table_row) + \
	 (TABLE_PAGE_MAX + 1) * sizeof(uint32_t) + TABLE_RULE_MAX * sizeof(struct packed_rule))

/* The request, as it is sent. */
struct table_question {
	struct remote_file file;
	bool cached, whole;
	uint64_t digest; /* of the cached table */
};

_Static_assert(sizeof(struct table_question) ==
		       sizeof(struct remote_file) + 2 * sizeof(bool) + sizeof(uint64_t),
	       "no padding, which would carry bytes of this program's stack");

static bool table_is_sound(const void *answer, size_t sz, void *arg)
{
	const struct table_request *r = arg;

	return answer ? cfi_table__is_sound(answer, sz, &r->file->build_id) : r->cached != NULL;
}

static int table_open_debug(const void *what, size_t sz, void *arg)
{
	const struct table_request *r = arg;

	return debug_file__find_wanted(what, sz, (void *)r->file);
}

int table_task__request(struct workers *w, const struct table_request *r, struct cfi_table **table)
{
	const struct table_question question = { .file = remote_file__of(r->file),
						 .digest = r->cached ? r->cached->digest : 0,
						 .cached = r->cached,
						 .whole = r->whole };
	const struct worker_request request = { .kind = TASK_TABLE,
						.owner = remote_file__owner(r->file),
						.path = r->file->path,
						.data = &question,
						.sz = sizeof(question),
						.fd = r->file->fd,
						.answer_max = TABLE_SZ_MAX,
						.open = table_open_debug,
						.check = table_is_sound,
						.arg = (void *)r };
	void *answer;
	size_t sz;
	int err = workers__request(w, &request, &answer, &sz);

	*table = answer;
	return err;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

static int tabletask_answer(struct task *t, const struct remote_file *question, struct elf_file *f)
{
	const struct table_question *q = (const void *)question;
	struct cfi_table *table;

	if (q->cached && cfi_table__digest(f) == q->digest)
		return 0;
	if (!q->whole)
		return -ENOENT;
	table = cfi_table__of_file(f);
	if (!table)
		return -errno;
	t->answer = table;
	t->answer_sz = table->sz;
	return 0;
}

int table_task__run(struct task *t)
{
	struct table_question q;

	return remote_file__answer(t, &q.file, sizeof(q), tabletask_answer);
}
