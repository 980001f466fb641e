// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/mcp/foldedtop.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct folded_line {
	const char *s;
	size_t sz; /* with its line end */
	double value;
};

struct folded_lines {
	struct folded_line *lines;
	size_t cnt, cap;
};

static int foldedtop_compare_lines(const void *a, const void *b)
{
	const struct folded_line *x = a, *y = b;

	return x->value < y->value ? 1 : x->value > y->value ? -1 : x->s < y->s ? -1 : x->s > y->s;
}

/* The number after the last space. */
static double foldedtop_value_of(const char *s, size_t sz)
{
	const char *space = memrchr(s, ' ', sz);

	return space ? strtod(space + 1, NULL) : 0;
}

static bool foldedtop_add_line(struct folded_lines *l, const char *s, size_t sz)
{
	struct folded_line *lines = array__room(l->lines, l->cnt, &l->cap, sizeof(*lines));

	if (!lines)
		return false;
	l->lines = lines;
	lines[l->cnt++] = (struct folded_line){ s, sz, foldedtop_value_of(s, sz) };
	return true;
}

static void foldedtop_append_lines(const struct folded_lines *l, size_t max, struct buf *out)
{
	double rest = 0;

	for (size_t i = 0; i < l->cnt; i++) {
		if (i < max)
			buf__append(out, l->lines[i].s, l->lines[i].sz);
		else
			rest += l->lines[i].value;
	}
	if (l->cnt > max)
		buf__printf(out, "(%zu more stacks) %.0f\n", l->cnt - max, rest);
}

void folded_top__keep(struct buf *folded, size_t cnt)
{
	struct folded_lines l = { 0 };
	struct buf kept = { 0 };
	const char *s, *end, *line_end;

	buf__u8(folded, 0); /* for strtod() */
	if (buf__err(folded))
		return;
	s = (const char *)folded->data;
	end = s + folded->sz - 1;
	while (s < end && (line_end = memchr(s, '\n', (size_t)(end - s)))) {
		if (!foldedtop_add_line(&l, s, (size_t)(line_end + 1 - s)))
			break;
		s = line_end + 1;
	}
	if (l.cnt)
		qsort(l.lines, l.cnt, sizeof(*l.lines), foldedtop_compare_lines);
	foldedtop_append_lines(&l, cnt, &kept);
	free(l.lines);
	buf__free(folded);
	*folded = kept;
}
