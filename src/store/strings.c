// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct string *strings_grow(struct strings *s, size_t cnt)
{
	struct string *v = reallocarray(s->v, s->cnt + cnt + 1, sizeof(*v));

	if (!v)
		return NULL;
	s->v = v;
	s->cnt += cnt;
	return v + s->cnt - cnt;
}

int strings__take(struct strings *s, const struct strtab *tab, size_t from)
{
	size_t cnt = strtab__cnt(tab) - from;
	struct string *v = strings_grow(s, cnt);

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		v[i].data = strtab__str(tab, (uint32_t)(from + i), &v[i].sz);
	return 0;
}

int strings__append(struct strings *s, const struct strings *from)
{
	struct string *v = strings_grow(s, from->cnt);

	if (!v)
		return -ENOMEM;
	if (from->cnt)
		memcpy(v, from->v, from->cnt * sizeof(*v));
	return 0;
}

void strings__free(struct strings *s)
{
	free(s->v);
	*s = (struct strings){ 0 };
}
