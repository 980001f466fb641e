// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/fleet/mergetexts.h"

#include <string.h>

#include "base/seed.h"
#include "base/utf8.h"
#include "store/strings.h"

static uint32_t text_intern(struct strtab *tab, const duckdb_string_t *s)
{
	size_t sz = duckdb_string_t_length(*s);
	const char *data = duckdb_string_t_data((duckdb_string_t *)s);

	return strtab__id(tab, data, sz <= STRING_MAX ? sz : utf8__valid(data, STRING_MAX));
}

uint32_t merge_texts__id(struct merge_texts *t, struct strtab *tab, const duckdb_string_t *s,
			 uint32_t chunk)
{
	struct merge_text *c;
	uint64_t words[2];

	_Static_assert(sizeof(words) == sizeof(*s), "a short text is in the struct");
	memcpy(words, s, sizeof(words));
	c = &t->cached[seed__mix(words[0] ^ seed__mix(words[1])) % MERGE_TEXTS_CACHED];
	if (c->words[0] == words[0] && c->words[1] == words[1] &&
	    (c->chunk == chunk || (c->chunk && duckdb_string_is_inlined(*s))))
		return c->id;
	*c = (struct merge_text){ { words[0], words[1] }, text_intern(tab, s), chunk };
	return c->id;
}
