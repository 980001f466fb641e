// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/spannames.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashindex.h"
#include "base/seed.h"
#include "base/strcopy.h"

struct span_name {
	uint64_t span_id; /* 0: free */
	char text[SPAN_NAME_SZ];
};

struct span_names {
	struct hashindex index;
	uint32_t next; /* the place to use next: the oldest span, if it is taken */
	struct span_name names[SPAN_NAME_MAX];
};

struct span_names *span_names__new(void)
{
	return calloc(1, sizeof(struct span_names));
}

void span_names__free(struct span_names *s)
{
	if (s)
		hashindex__free(&s->index);
	free(s);
}

static uint32_t spannames_find_name(const struct span_names *s, uint64_t span_id)
{
	return HASHINDEX_FIND(&s->index, seed__mix(span_id), i, s->names[i].span_id == span_id);
}

void span_names__add(struct span_names *s, uint64_t span_id, const char *text)
{
	struct span_name *n = &s->names[s->next];

	if (!span_id || spannames_find_name(s, span_id) != HASHINDEX_NONE)
		return;
	if (n->span_id)
		hashindex__remove(&s->index, seed__mix(n->span_id), s->next);
	n->span_id = 0;
	if (hashindex__add(&s->index, seed__mix(span_id), s->next) != 0)
		return;
	n->span_id = span_id;
	str__copy(n->text, sizeof(n->text), text);
	s->next = (s->next + 1) % SPAN_NAME_MAX;
}

const char *span_names__find(const struct span_names *s, uint64_t span_id)
{
	uint32_t i = s && span_id ? spannames_find_name(s, span_id) : HASHINDEX_NONE;

	return i == HASHINDEX_NONE ? NULL : s->names[i].text;
}
