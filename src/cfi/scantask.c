// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/scantask.h"

#include <stdlib.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "elf/remotefile.h"

enum scan_kind { SCAN_ROWS, SCAN_OVERRIDES };

/* The request, as it is sent. */
struct scan_question {
	struct remote_file file;
	uint8_t kind; /* enum scan_kind */
};

/* The answer: for SCAN_ROWS an array of struct cfi_row, else this one with `cnt` marks. */
struct scan_marks {
	uint64_t has_pclntab, is_go, cnt;
	struct override marks[OVERRIDE_MAX];
};

static size_t scan_marks_sz(size_t cnt)
{
	return offsetof(struct scan_marks, marks) + cnt * sizeof(struct override);
}

/* Any numbers are safe: a walk checks each address. */
static bool scantask_row_is_sound(const struct cfi_row *r)
{
	return r->rule.how <= PACKED_ROOT && !(r->rule.flags & ~PACKED_FP_LOST);
}

bool scan_answer__rows(const void *answer, size_t sz, struct code_rows *out)
{
	const struct cfi_row *rows = answer;
	size_t cnt = sz / sizeof(*rows);

	*out = (struct code_rows){ 0 };
	if (sz % sizeof(*rows) || cnt > CODE_ROWS_MAX)
		return false;
	for (size_t i = 0; i < cnt; i++)
		if (!scantask_row_is_sound(&rows[i]) || (i && rows[i].at < rows[i - 1].at))
			return false;
	out->rows = malloc(sz + 1);
	if (!out->rows)
		return true; /* no rows, as code_rows__make() has then */
	if (sz)
		memcpy(out->rows, rows, sz);
	out->cnt = cnt;
	out->cap = cnt + 1;
	return true;
}

/* `from`: the end of the mark before. */
static bool scantask_mark_is_sound(const struct override *o, uint64_t from, const struct machine *m)
{
	const struct packed_rule *r = &o->rule.packed;

	if (o->vaddr < from || !o->sz || o->sz > UINT64_MAX - o->vaddr)
		return false;
	if (o->rule.base >= m->reg_cnt || r->flags & ~PACKED_CALLERS_ONLY)
		return false;
	return r->how == PACKED_SP || r->how == PACKED_FP || r->how == PACKED_ROOT ||
	       r->how == PACKED_SWITCH || r->how == PACKED_SIGNAL;
}

bool scan_answer__overrides(const void *answer, size_t sz, const struct machine *m,
			    struct overrides *out)
{
	const struct scan_marks *a = answer;
	uint64_t end = 0;

	*out = (struct overrides){ 0 };
	if (!a || sz < scan_marks_sz(0) || a->cnt > OVERRIDE_MAX || sz != scan_marks_sz(a->cnt))
		return false;
	for (size_t i = 0; i < a->cnt; i++) {
		if (!scantask_mark_is_sound(&a->marks[i], end, m))
			return false;
		end = a->marks[i].vaddr + a->marks[i].sz;
	}
	out->has_pclntab = a->has_pclntab != 0;
	out->is_go = a->is_go != 0;
	out->cnt = a->cnt;
	memcpy(out->marks, a->marks, a->cnt * sizeof(*a->marks));
	return true;
}

/* What a check fills. */
struct scan_result {
	const struct elf_file *file;
	struct code_rows *rows; /* or: */
	struct overrides *overrides;
};

static bool scantask_check(const void *answer, size_t sz, void *result)
{
	const struct scan_result *r = result;

	if (r->rows)
		return scan_answer__rows(answer, sz, r->rows);
	return scan_answer__overrides(answer, sz, r->file->machine, r->overrides);
}

static int scantask_open_debug(const void *what, size_t sz, void *result)
{
	const struct scan_result *r = result;

	return debug_file__find_wanted(what, sz, (void *)r->file);
}

static int scantask_request_rows(struct workers *w, struct scan_result *r)
{
	const struct scan_question question = { remote_file__of(r->file),
						r->rows ? SCAN_ROWS : SCAN_OVERRIDES };
	const struct worker_request request = { .kind = TASK_SCAN,
						.owner = remote_file__owner(r->file),
						.path = r->file->path,
						.data = &question,
						.sz = sizeof(question),
						.fd = r->file->fd,
						.answer_max =
							CODE_ROWS_MAX * sizeof(struct cfi_row),
						.open = scantask_open_debug,
						.check = scantask_check,
						.arg = r };
	void *answer;
	size_t sz;
	int err = workers__request(w, &request, &answer, &sz);

	free(answer);
	return err;
}

int scan_task__rows(struct workers *w, struct elf_file *f, struct code_rows *out)
{
	struct scan_result r = { .file = f, .rows = out };

	*out = (struct code_rows){ 0 };
	if (w)
		return scantask_request_rows(w, &r);
	code_rows__make(out, f);
	return 0;
}

int scan_task__overrides(struct workers *w, const struct elf_file *f, struct overrides *out)
{
	struct scan_result r = { .file = f, .overrides = out };
	GElf_Shdr table;

	*out = (struct overrides){ 0 };
	if (w && f->machine && gopclntab__section(f, &table))
		return scantask_request_rows(w, &r);
	overrides__find(out, f);
	return 0;
}

/* ---- in a worker --------------------------------------------------------------------------------
 */

static int scantask_answer_rows(struct task *t, struct elf_file *f)
{
	struct code_rows rows;

	code_rows__make(&rows, f);
	t->answer = rows.rows;
	t->answer_sz = rows.cnt * sizeof(*rows.rows);
	return 0;
}

static int scantask_answer_overrides(struct task *t, const struct elf_file *f)
{
	struct scan_marks *a = calloc(1, sizeof(*a));
	struct overrides found;

	if (!a)
		return -ENOMEM;
	overrides__find(&found, f);
	a->has_pclntab = found.has_pclntab;
	a->is_go = found.is_go;
	a->cnt = found.cnt;
	memcpy(a->marks, found.marks, found.cnt * sizeof(*a->marks));
	t->answer = a;
	t->answer_sz = scan_marks_sz(a->cnt);
	return 0;
}

static int scantask_answer(struct task *t, const struct remote_file *question, struct elf_file *f)
{
	const struct scan_question *q = (const void *)question;

	if (!f->machine)
		return -ENOENT;
	return q->kind == SCAN_ROWS ? scantask_answer_rows(t, f) : scantask_answer_overrides(t, f);
}

int scan_task__run(struct task *t)
{
	struct scan_question q;

	return remote_file__answer(t, &q.file, sizeof(q), scantask_answer);
}
