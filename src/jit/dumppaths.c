// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/dumppaths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"

#define PROCESSES_MAX 65536 /* if there are more, all are dropped */

struct telling {
	uint32_t tgid;
	char *path;
	UT_hash_handle hh;
};

struct dump_paths {
	struct telling *tellings;
};

struct dump_paths *dump_paths__new(void)
{
	return calloc(1, sizeof(struct dump_paths));
}

static void dumppaths_forget(struct dump_paths *j, struct telling *t)
{
	HASH_DEL(j->tellings, t);
	free(t->path);
	free(t);
}

static void dumppaths_forget_all(struct dump_paths *j)
{
	struct telling *t, *next;

	HASH_ITER (hh, j->tellings, t, next)
		dumppaths_forget(j, t);
}

void dump_paths__free(struct dump_paths *j)
{
	if (!j)
		return;
	dumppaths_forget_all(j);
	free(j);
}

/* Accepts any PID in jit-PID.dump: in a container it is another one. */
static bool dumppaths_is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (path[0] != '/' || strncmp(name, "/jit-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits > 0 && strcmp(name + 5 + digits, ".dump") == 0;
}

static struct telling *dumppaths_find(const struct dump_paths *j, uint32_t tgid)
{
	struct telling *t;

	HASH_FIND(hh, j->tellings, &tgid, sizeof(tgid), t);
	return t;
}

static void dumppaths_add(struct dump_paths *j, uint32_t tgid, const char *path)
{
	struct telling *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	t->tgid = tgid;
	t->path = strdup(path);
	if (t->path)
		HASH_ADD(hh, j->tellings, tgid, sizeof(t->tgid), t);
	if (t->path && HASH_ADDED(t))
		return;
	free(t->path);
	free(t);
}

void dump_paths__apply(struct dump_paths *j, const struct record *r)
{
	struct telling *t;

	if (r->type != RECORD_MMAP || !(r->mmap.prot & PROT_EXEC) ||
	    !dumppaths_is_dump(r->mmap.path))
		return;
	t = dumppaths_find(j, r->tgid);
	if (t && strcmp(t->path, r->mmap.path) == 0)
		return;
	if (t)
		dumppaths_forget(j, t);
	if (HASH_COUNT(j->tellings) >= PROCESSES_MAX)
		dumppaths_forget_all(j);
	dumppaths_add(j, r->tgid, r->mmap.path);
}

const char *dump_paths__dump(const struct dump_paths *j, uint32_t tgid)
{
	const struct telling *t = j ? dumppaths_find(j, tgid) : NULL;

	return t ? t->path : NULL;
}
