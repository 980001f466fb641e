/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that are counted: what flame graphs are drawn from. */
#ifndef FOLDED_H
#define FOLDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct folded {
	char **lines;
	size_t cnt, cap;
};

static inline void folded_add(struct folded *f, const char *line)
{
	if (f->cnt == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 1024;
		f->lines = (char **)realloc(f->lines, f->cap * sizeof(*f->lines));
	}
	f->lines[f->cnt++] = strdup(line);
}

static inline int folded_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "a;b;c 12", one for each distinct line. */
static inline void folded_print(struct folded *f)
{
	size_t same = 1;

	qsort(f->lines, f->cnt, sizeof(*f->lines), folded_compare);
	for (size_t i = 0; i < f->cnt; i++, same++) {
		if (i + 1 < f->cnt && strcmp(f->lines[i], f->lines[i + 1]) == 0)
			continue;
		printf("%s %zu\n", f->lines[i], same);
		same = 0;
	}
}

#endif
