// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/difflimit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const field_names[DIFF_FIELD_CNT] = { "self", "total", "all" };

static const char *difflimit_skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static const char *difflimit_skip_field(const char *s, enum diff_field *field)
{
	for (int i = 0; i < DIFF_FIELD_CNT; i++) {
		size_t sz = strlen(field_names[i]);

		*field = i;
		if (strncmp(s, field_names[i], sz) == 0)
			return difflimit_skip_blanks(s + sz);
	}
	return NULL;
}

int diff_limit__parse(const char *text, struct diff_limit *limit)
{
	const char *s = difflimit_skip_field(difflimit_skip_blanks(text), &limit->field);
	char *end;

	if (!s || *s != '>')
		return -EINVAL;
	s = difflimit_skip_blanks(s + 1);
	if (strspn(s, "0123456789.") == 0)
		return -EINVAL;
	limit->percent = strtod(s, &end);
	s = difflimit_skip_blanks(end);
	if (end == text || *s != '%' || *difflimit_skip_blanks(s + 1))
		return -EINVAL;
	return isfinite(limit->percent) ? 0 : -EINVAL;
}

ssize_t diff_limit__exceeded(const struct diff_limit *limit, const struct diff_functions *d)
{
	double most = limit->percent / 100 * diff_functions__change(d, DIFF_ALL, 0).a;
	size_t cnt = d->fields[limit->field].series.cnt;
	ssize_t found = -1;

	for (size_t i = 0; i < cnt; i++) {
		struct diff_change c = diff_functions__change(d, limit->field, i);

		if (!c.significant || c.b - c.a <= most)
			continue;
		most = c.b - c.a;
		found = (ssize_t)i;
	}
	return found;
}
