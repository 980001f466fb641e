// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/codefetch.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "runtime/locate.h"

#define READ_MAX (8u << 20) /* bytes of one piece */

/* Returns a piece without code, for an address at which none can be read. */
static struct code_blob *codefetch_no_code(struct code_blob *b, uint64_t pc)
{
	code_blob__free(b);
	b = calloc(1, sizeof(*b));
	if (b) {
		b->start = pc;
		b->end = pc + 1;
	}
	return b;
}

static void codefetch_fetch(const struct code_fetch *f, int mem, const struct code_wanted *w,
			    struct code_blob **out)
{
	struct remote remote = { .mem = mem, .left = READ_MAX };
	struct code_blob *b = calloc(1, sizeof(*b));
	int err = b ? f->layout.runtime->code->read(&remote, &f->layout, w, b) : -ENOMEM;

	*out = b;
	if (err == -EALREADY) {
		code_blob__free(b);
		*out = NULL;
	} else if (err) {
		*out = codefetch_no_code(b, w->pc);
	}
}

static bool codefetch_is_within(const struct code_blob *b, uint64_t pc)
{
	return b && b->kind != CODE_NONE && (b->kind != CODE_BYTECODE || b->script_cnt) &&
	       pc >= b->start && pc < b->end;
}

static bool codefetch_read_ranges(struct code_fetch *f, struct remote *r)
{
	const struct runtime_code *code = f->layout.runtime->code;

	return !code->ranges || code->ranges(r, &f->layout, &f->ranges) == 0;
}

/* Several addresses may be in one piece: it is read once. They are in order. */
void code_fetch__work(struct job *job)
{
	struct code_fetch *f = (struct code_fetch *)job;
	int mem = locate__open(f->proc, f->tgid, "mem");
	struct remote remote = { .mem = mem, .left = READ_MAX };
	const struct code_blob *last = NULL;

	f->begin_ns = monotonic__ns();
	f->has_ranges = mem >= 0 && codefetch_read_ranges(f, &remote);
	for (f->done = 0; f->has_ranges && f->done < f->cnt; f->done++) {
		const struct code_wanted *w = &f->pieces[f->done].wanted;

		if (codefetch_is_within(last, w->pc))
			continue;
		codefetch_fetch(f, mem, w, &f->pieces[f->done].blob);
		last = f->pieces[f->done].blob;
	}
	if (mem >= 0)
		close(mem);
}
