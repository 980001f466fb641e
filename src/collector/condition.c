// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/condition.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/parse.h"

#define TEXT_MAX 64

static const struct {
	const char *name;
	int (*parse)(const char *text, uint64_t *value);
	bool lasts; /* it can hold for a time */
} quantities[CONDITION_CNT] = {
	[CONDITION_CPU] = { "cpu", parse__percent, true },
	[CONDITION_MEMORY] = { "memory", parse__size, true },
	[CONDITION_SPAN] = { "span", parse__duration, false },
};

/* Copies the text without blanks. Returns false if it is too long. */
static bool condition_squeeze(const char *text, char out[TEXT_MAX])
{
	size_t sz = 0;

	for (; *text; text++) {
		if (isspace((unsigned char)*text))
			continue;
		if (sz + 1 == TEXT_MAX)
			return false;
		out[sz++] = *text;
	}
	out[sz] = '\0';
	return true;
}

static int condition_set(struct condition *c, char *limit, char *time)
{
	if (time) {
		*time = '\0';
		time += strlen("for");
		if (!quantities[c->of].lasts || parse__duration(time, &c->for_ns) != 0)
			return -EINVAL;
	}
	return quantities[c->of].parse(limit, &c->above) != 0 ? -EINVAL : 0;
}

int condition__parse(const char *text, struct condition *c)
{
	char squeezed[TEXT_MAX], *limit;

	*c = (struct condition){ 0 };
	if (!condition_squeeze(text, squeezed))
		return -EINVAL;
	limit = strchr(squeezed, '>');
	if (!limit)
		return -EINVAL;
	*limit++ = '\0';
	for (int i = 0; i < CONDITION_CNT; i++) {
		c->of = (enum condition_of)i;
		if (strcmp(quantities[i].name, squeezed) == 0)
			return condition_set(c, limit, strstr(limit, "for"));
	}
	return -EINVAL;
}

bool condition__fires(struct condition *c, uint64_t value, uint64_t now_ns)
{
	if (value <= c->above) {
		c->since_ns = 0;
		c->fired = false;
		return false;
	}
	if (!c->since_ns)
		c->since_ns = now_ns;
	if (c->fired || now_ns - c->since_ns < c->for_ns)
		return false;
	c->fired = true;
	return true;
}
