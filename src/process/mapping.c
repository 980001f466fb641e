// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include "process/open.h"
#include "process/table.h"

#define DELETED " (deleted)"

/* What has no path in a file system. The first prefix that fits decides. */
static const struct {
	const char *prefix;
	enum mapping_kind kind;
} kinds[] = {
	{ "[vdso]", MAPPING_VDSO },    { "[vsyscall]", MAPPING_VSYSCALL },
	{ "/memfd:", MAPPING_ANON },   { "/SYSV", MAPPING_ANON },
	{ "/dev/zero", MAPPING_ANON }, { "/anon_hugepage", MAPPING_ANON },
	{ "//toolong", MAPPING_FILE }, { "//enomem", MAPPING_FILE },
	{ "//", MAPPING_ANON },	       { "/", MAPPING_FILE },
};

static enum mapping_kind kind_of(const char *path)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strncmp(path, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return kinds[i].kind;
	return MAPPING_ANON; /* "", [heap], [stack], [anon:…], anon_inode:… */
}

static void strip_deleted(char *path)
{
	size_t sz = strlen(path), suffix = strlen(DELETED);

	if (sz > suffix && path[0] == '/' && strcmp(path + sz - suffix, DELETED) == 0)
		path[sz - suffix] = '\0';
}

/* A memfd may hold a program (runc starts itself from one), so whatever has a path is tried. Where
 * the kernel found a build ID, there was one. */
static void open_file(struct process_table *t, struct mapping *out, struct open_request *r)
{
	out->file = elf_cache__open_mapped(t->files, r);
	if (out->file || r->map->build_id.sz > 0)
		out->kind = MAPPING_FILE;
	if (!out->file && out->kind == MAPPING_FILE && errno != ENOEXEC)
		t->files_failed++;
	out->build_id = out->file ? out->file->build_id : r->map->build_id;
}

int process_table__map(struct process_table *t, uint32_t tgid, const struct record_mmap *m,
		       struct mapping *out)
{
	char path[PATH_MAX + sizeof(DELETED)];
	struct open_request r = { t->proc, tgid, m, path };

	if (m->len == 0 || m->len > UINT64_MAX - m->start)
		return -EINVAL;
	snprintf(path, sizeof(path), "%s", m->path);
	strip_deleted(path);
	*out = (struct mapping){ .start = m->start,
				 .end = m->start + m->len,
				 .pgoff = m->pgoff,
				 .kind = kind_of(path),
				 .path = pathtab__add(t->paths, path) };
	if (!out->path)
		return -ENOMEM;
	if (path[0] == '/' && (path[1] != '/' || out->kind == MAPPING_FILE))
		open_file(t, out, &r);
	/* A 32-bit process has another vdso than ours. */
	if (out->kind == MAPPING_VDSO && t->vdso && m->start > UINT32_MAX) {
		out->file = elf_file__get(t->vdso);
		out->build_id = t->vdso->build_id;
	}
	return 0;
}
