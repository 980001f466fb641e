// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/codeblob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/remote.h"

int code_blob__read(struct code_blob *b, struct remote *r)
{
	b->bytes = malloc(b->end - b->start);
	if (!b->bytes)
		return -ENOMEM;
	return remote__read(r, b->start, b->bytes, b->end - b->start) ? 0 : -EFAULT;
}

int code_blob__name(struct code_blob *b, const char *language, const char *module, const char *name)
{
	struct script_function f = { 0 };
	int err = script_function__name(&f, language, module, name);

	if (err)
		return err;
	b->scripts = malloc(sizeof(*b->scripts));
	if (!b->scripts) {
		script_function__free(&f);
		return -ENOMEM;
	}
	b->scripts[b->script_cnt++] = f.script;
	return 0;
}

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
