// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/addresstask.h"

#include <stdlib.h>
#include <string.h>

#include "elf/remotefile.h"

/* The request, as it is sent. */
struct address_question {
	struct remote_file file;
	uint8_t code; /* a function's code is wanted, not addresses */
	uint32_t names_sz, value_cnt;
	uint64_t left;
	char names[ADDRESS_NAMES_SZ_MAX]; /* each with a NUL */
};

/* The answer: what is left of the limit, and the address of each name. For a function: where its
 * code begins and ends in the file. */
struct address_answer {
	uint64_t left, values[ADDRESS_NAMES_MAX];
};

#define CODE_VALUES 2

static size_t addresstask_answer_sz(size_t value_cnt)
{
	return sizeof(uint64_t) * (1 + value_cnt);
}

bool address_answer__take(const void *answer, size_t sz, struct address_values *to)
{
	const struct address_answer *a = answer;

	if (!a || to->cnt > ADDRESS_NAMES_MAX || sz != addresstask_answer_sz(to->cnt) ||
	    a->left > to->left)
		return false;
	to->left = a->left;
	memcpy(to->values, a->values, to->cnt * sizeof(*to->values));
	return true;
}

static bool addresstask_answer_check(const void *answer, size_t sz, void *values)
{
	return address_answer__take(answer, sz, values);
}

/* Returns false if the names do not fit. Sets all bytes, because they leave this process. */
static bool address_question_fill(struct address_question *q, const struct symbol_search *s,
				  const struct elf_file *f, const struct elf_symbol_names *names)
{
	memset(q, 0, sizeof(*q));
	q->file = remote_file__of(f);
	q->left = s->left;
	q->value_cnt = (uint32_t)names->cnt;
	for (size_t i = 0; i < names->cnt; i++) {
		size_t sz = strlen(names->names[i]) + 1;

		if (sz > sizeof(q->names) - q->names_sz)
			return false;
		memcpy(q->names + q->names_sz, names->names[i], sz);
		q->names_sz += (uint32_t)sz;
	}
	return names->cnt <= ADDRESS_NAMES_MAX;
}

/* Sets `cnt` values. Returns false, with zeros, if there is no answer. */
static bool addresstask_request(struct symbol_search *s, const struct elf_file *f,
				struct address_question *q, uint64_t *values)
{
	struct address_values to = { q->left, q->value_cnt, values };
	const struct worker_request request = { .kind = TASK_ADDRESSES,
						.owner = remote_file__owner(f),
						.path = f->path,
						.data = q,
						.sz = sizeof(*q),
						.fd = f->fd,
						.answer_max = addresstask_answer_sz(q->value_cnt),
						.check = addresstask_answer_check,
						.arg = &to };
	void *answer;
	size_t sz;
	int err = workers__request(s->workers, &request, &answer, &sz);

	free(answer);
	s->failed |= workers__failed(err);
	s->left = to.left;
	if (err)
		memset(values, 0, to.cnt * sizeof(*values));
	return !err;
}

uint64_t address_task__find(struct symbol_search *s, const struct elf_file *f,
			    const struct elf_symbol_names *names, uint64_t *found)
{
	struct address_question q;

	if (!s->workers)
		return elf_symbol__find_all(f, names, found, &s->left);
	memset(found, 0, names->cnt * sizeof(*found));
	return address_question_fill(&q, s, f, names) && addresstask_request(s, f, &q, found)
		       ? found[0]
		       : 0;
}

bool address_task__code(struct symbol_search *s, const struct elf_file *f, const char *name,
			struct elf_symbol_code *code)
{
	const struct elf_symbol_names names = { &name, 1 };
	struct address_question q;
	uint64_t values[CODE_VALUES];

	if (!s->workers)
		return elf_symbol__code(f, name, code, &s->left);
	if (!address_question_fill(&q, s, f, &names))
		return false;
	q.code = true;
	q.value_cnt = CODE_VALUES;
	if (!addresstask_request(s, f, &q, values))
		return false;
	*code = (struct elf_symbol_code){ values[0], values[1] };
	return code->start < code->end;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

/* Points to the names of a request, and returns their number. */
static size_t addresstask_names(const struct address_question *q, const char **names)
{
	size_t cnt = 0;

	for (size_t at = 0; at < q->names_sz && cnt < ADDRESS_NAMES_MAX; cnt++) {
		names[cnt] = q->names + at;
		at += strlen(names[cnt]) + 1;
	}
	return cnt;
}

static int addresstask_answer(struct task *t, const struct remote_file *question,
			      struct elf_file *f)
{
	const struct address_question *q = (const void *)question;
	struct address_answer *a = calloc(1, sizeof(*a));
	const char *names[ADDRESS_NAMES_MAX];
	struct elf_symbol_code code = { 0 };
	size_t cnt = addresstask_names(q, names), left = q->left;

	if (!a)
		return -ENOMEM;
	if (q->code) {
		elf_symbol__code(f, names[0], &code, &left);
		a->values[0] = code.start;
		a->values[1] = code.end;
	} else {
		elf_symbol__find_all(f, &(struct elf_symbol_names){ names, cnt }, a->values, &left);
	}
	a->left = left;
	t->answer = a;
	t->answer_sz = addresstask_answer_sz(q->value_cnt);
	return 0;
}

int address_task__run(struct task *t)
{
	struct address_question q;

	return remote_file__answer(t, &q.file, sizeof(q), addresstask_answer);
}
