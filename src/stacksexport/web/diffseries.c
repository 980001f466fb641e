// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/diffseries.h"

#include <errno.h>
#include <stdlib.h>

int diff_series__init(struct diff_series *s, size_t cnt, double scale)
{
	s->series = (struct side_series){ .cnt = cnt, .scale = scale };
	for (int i = 0; i < SIDE_CNT; i++) {
		s->values[i] = calloc((cnt + 1) * SIDE_SLICE_CNT, sizeof(*s->values[i]));
		s->series.values[i] = s->values[i];
		if (!s->values[i])
			return -ENOMEM;
	}
	return 0;
}

void diff_series__free(struct diff_series *s)
{
	for (int i = 0; i < SIDE_CNT; i++)
		free(s->values[i]);
	comparison__free(&s->comparison);
	*s = (struct diff_series){ 0 };
}

void diff_series__add(struct diff_series *s, enum diff_side side, size_t row, size_t slice,
		      int64_t value)
{
	int64_t *sum = &s->values[side][row * SIDE_SLICE_CNT + slice];

	*sum = trie__add(*sum, value);
}

int diff_series__compare(struct diff_series *s)
{
	return comparison__make(&s->comparison, &s->series);
}

struct diff_change diff_series__change(const struct diff_series *s, size_t row)
{
	const struct bootstrap_result *r = &s->comparison.results[row];

	return (struct diff_change){
		.a = side_series__sum(&s->series, SIDE_A, row),
		.b = side_series__sum(&s->series, SIDE_B, row),
		.lo = r->lo,
		.hi = r->hi,
		.p = r->p,
		.significant = s->comparison.significant[row],
	};
}
