// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/nametask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define LATE_NS 1000000000 /* stacks wait for their names */

bool name_batch__add(struct name_batch *b, const char *mangled)
{
	size_t sz = strlen(mangled) + 1;

	if (sz > sizeof(b->text) - b->sz)
		return false;
	memcpy(b->text + b->sz, mangled, sz);
	b->sz += sz;
	b->cnt++;
	return true;
}

/* Returns the end of the name at `at` with its NUL, or NULL if there is none before `end`. */
static const char *nametask_name_end(const char *at, const char *end)
{
	const char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

	return nul ? nul + 1 : NULL;
}

/* A readable name is one that symbol_name_plain() leaves as it is. */
static bool nametask_is_readable(const char *name)
{
	char plain[SYMBOL_NAME_MAX];

	symbol_name_plain(name, plain);
	return strcmp(name, plain) == 0;
}

static bool names_are_sound(const void *answer, size_t sz, void *arg)
{
	const struct name_batch *b = arg;
	const char *at = answer, *end = at + sz;
	size_t cnt = 0;

	for (const char *next; (next = nametask_name_end(at, end)); at = next, cnt++)
		if (!nametask_is_readable(at))
			return false;
	return at == end && cnt == b->cnt;
}

int name_task__request(struct workers *w, const struct name_batch *b, struct name_owner owner,
		       readable_name_fn fn, void *arg)
{
	const struct worker_request request = { .kind = TASK_NAMES,
						.owner = owner.id,
						.path = owner.path,
						.data = b->text,
						.sz = b->sz,
						.fd = -1,
						.answer_max = b->cnt * SYMBOL_NAME_MAX,
						.late_ns = LATE_NS,
						.check = names_are_sound,
						.arg = (void *)b };
	const char *at, *end;
	void *answer;
	size_t sz;
	int err = workers__request(w, &request, &answer, &sz);

	if (err)
		return err;
	at = answer;
	end = at + sz;
	for (const char *next; (next = nametask_name_end(at, end)); at = next)
		fn(at, arg);
	free(answer);
	return 0;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

int name_task__run(struct task *t)
{
	const char *at = t->request, *end = at + t->request_sz;
	char readable[SYMBOL_NAME_MAX];
	struct buf names = { 0 };

	for (const char *next; (next = nametask_name_end(at, end)); at = next)
		buf__append(&names, readable, symbol_name(at, readable) + 1);
	if (buf__err(&names)) {
		buf__free(&names);
		return -ENOMEM;
	}
	t->answer = names.data;
	t->answer_sz = names.sz;
	return 0;
}
