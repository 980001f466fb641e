// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/codeblob.h"

#include <stdlib.h>
#include <string.h>

void code_blob__free(struct code_blob *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->script_cnt; i++)
		script__free(&b->scripts[i]);
	free(b->scripts);
	free(b->bytes);
	free(b->scopes);
	free(b->places);
	free(b);
}

size_t code_blob__memory(const struct code_blob *b)
{
	size_t sz =
		sizeof(*b) + b->place_cnt * sizeof(*b->places) + b->scope_cnt * sizeof(*b->scopes);

	sz += b->bytes ? b->end - b->start : 0;
	for (size_t i = 0; i < b->script_cnt; i++)
		sz += script__memory(&b->scripts[i]);
	return sz;
}

uint32_t code_blob__scope(const struct code_blob *b, uint64_t pc, bool exact)
{
	uint64_t off = pc - b->start;
	size_t lo = 0, hi = b->place_cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->places[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == b->place_cnt || (exact && b->places[lo].off != off))
		return CODE_NOWHERE;
	return b->places[lo].scope;
}
