// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/webparams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct query_param *params_find(const struct query_params *p, const char *name)
{
	for (size_t i = 0; i < p->cnt; i++)
		if (strcmp(p->list[i].name, name) == 0)
			return &p->list[i];
	return NULL;
}

int query_params__set(struct query_params *p, const char *name, const char *value)
{
	struct query_param *found = (struct query_param *)params_find(p, name);

	if (found)
		found->value = value;
	else if (p->cnt == PARAMS_MAX)
		return -E2BIG;
	else
		p->list[p->cnt++] = (struct query_param){ name, value };
	return 0;
}

const char *query_params__find(const struct query_params *p, const char *name)
{
	const struct query_param *found = params_find(p, name);

	return found && found->value && *found->value ? found->value : NULL;
}

int query_params__int(const struct query_params *p, const char *name, int64_t *value)
{
	const char *text = query_params__find(p, name);
	char *end;
	long long n;

	if (!text)
		return 0;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || *end || end == text)
		return -EINVAL;
	*value = n;
	return 0;
}
