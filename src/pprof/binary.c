// SPDX-License-Identifier: GPL-2.0-or-later
#include "pprof/binary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "process/elffile.h"
#include "base/hash.h"

struct known {
	UT_hash_handle hh;
	struct lines *lines; /* NULL: there are none */
	char key[];	     /* build ID, a space, module */
};

struct binary_lines {
	const char *binary;
	char binary_id[BUILD_ID_HEX_SZ]; /* "" when there is no binary */
	struct known *known;
};

int binary__build_id(const char *path, char hex[BUILD_ID_HEX_SZ])
{
	struct elf_file *file;
	struct stat st;
	int err;

	hex[0] = '\0';
	if (stat(path, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) /* opening a pipe would wait for its writer */
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOEXEC;
	file = elf_file__open(path);
	if (!file)
		return -errno;
	for (size_t i = 0; i < file->build_id.sz; i++)
		snprintf(hex + 2 * i, 3, "%02x", file->build_id.bytes[i]);
	err = file->build_id.sz ? 0 : -ENODATA;
	elf_file__put(file);
	return err;
}

struct binary_lines *binary_lines__new(const char *binary)
{
	struct binary_lines *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->binary = binary;
	if (binary)
		binary__build_id(binary, b->binary_id);
	return b;
}

void binary_lines__free(struct binary_lines *b)
{
	struct known *k, *next;

	if (!b)
		return;
	HASH_ITER (hh, b->known, k, next) {
		HASH_DEL(b->known, k);
		lines__free(k->lines);
		free(k);
	}
	free(b);
}

static struct lines *open_lines(const struct binary_lines *b, const char *module,
				const char *build_id)
{
	char found[BUILD_ID_HEX_SZ];

	if (strcmp(b->binary_id, build_id) == 0)
		return lines__new(b->binary);
	if (module[0] != '/' || binary__build_id(module, found) != 0 ||
	    strcmp(found, build_id) != 0)
		return NULL;
	return lines__new(module);
}

struct lines *binary_lines__find(struct binary_lines *b, const char *module, const char *build_id)
{
	size_t sz = strlen(build_id) + 1 + strlen(module);
	struct known *k, *old;

	if (!*build_id)
		return NULL;
	k = calloc(1, sizeof(*k) + sz + 1);
	if (!k)
		return NULL;
	snprintf(k->key, sz + 1, "%s %s", build_id, module);
	HASH_FIND(hh, b->known, k->key, sz, old);
	if (!old)
		HASH_ADD_KEYPTR(hh, b->known, k->key, sz, k);
	if (old || !HASH_ADDED(k)) {
		free(k);
		return old ? old->lines : NULL;
	}
	k->lines = open_lines(b, module, build_id);
	return k->lines;
}
