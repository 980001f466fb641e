// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/pathtab.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct path {
	UT_hash_handle hh;
	size_t refs;
	char str[];
};

struct pathtab {
	struct path *paths;
};

static struct path *pathtab_path_of(const char *str)
{
	return (struct path *)(uintptr_t)(str - offsetof(struct path, str));
}

struct pathtab *pathtab__new(void)
{
	return calloc(1, sizeof(struct pathtab));
}

static void pathtab_drop(struct pathtab *t, struct path *p)
{
	HASH_DEL(t->paths, p);
	free(p);
}

void pathtab__free(struct pathtab *t)
{
	while (t && t->paths)
		pathtab_drop(t, t->paths);
	free(t);
}

const char *pathtab__add(struct pathtab *t, const char *str)
{
	size_t sz = strlen(str);
	unsigned hash = (unsigned)XXH3_64bits_withSeed(str, sz, seed__get());
	struct path *p;

	HASH_FIND_BYHASHVALUE(hh, t->paths, str, sz, hash, p);
	if (p) {
		p->refs++;
		return p->str;
	}
	p = calloc(1, sizeof(*p) + sz + 1);
	if (!p)
		return NULL;
	memcpy(p->str, str, sz);
	p->refs = 1;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, t->paths, p->str, sz, hash, p);
	if (!HASH_ADDED(p)) {
		free(p);
		return errno = ENOMEM, NULL;
	}
	return p->str;
}

const char *pathtab__get(const char *str)
{
	pathtab_path_of(str)->refs++;
	return str;
}

void pathtab__put(struct pathtab *t, const char *str)
{
	if (str && --pathtab_path_of(str)->refs == 0)
		pathtab_drop(t, pathtab_path_of(str));
}
