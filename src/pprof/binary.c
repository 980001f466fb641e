// SPDX-License-Identifier: GPL-2.0-or-later
#include "pprof/binary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "elf/elffile.h"
#include "base/hash.h"
#include "cfi/functions.h"

/* A cached file. Its lines and functions are loaded at the first query. */
struct binary {
	UT_hash_handle hh;
	const char *path; /* NULL if the file is absent */
	bool has_lines, has_functions;
	struct lines *lines;	     /* valid if has_lines; NULL if the file has none */
	struct functions *functions; /* valid if has_functions; NULL if the file has none */
	char key[];		     /* build ID, a space, module */
};

struct binaries {
	const char *given;
	char given_id[BUILD_ID_HEX_SZ]; /* "" when none is given */
	struct binary *known;
};

int binary__build_id(const char *path, char hex[BUILD_ID_HEX_SZ])
{
	struct elf_file *file;
	struct stat st;
	int err;

	hex[0] = '\0';
	if (stat(path, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) /* opening a pipe would block until it has a writer */
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

struct binaries *binaries__new(const char *given)
{
	struct binaries *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->given = given;
	if (given)
		binary__build_id(given, b->given_id);
	return b;
}

void binaries__free(struct binaries *b)
{
	struct binary *k, *next;

	if (!b)
		return;
	HASH_ITER (hh, b->known, k, next) {
		HASH_DEL(b->known, k);
		lines__free(k->lines);
		functions__free(k->functions);
		free(k);
	}
	free(b);
}

/* Returns the path of the file with this build ID, or NULL if there is none. The result may be
 * `module` itself, which must outlive it. */
static const char *binary_path_of(const struct binaries *b, const char *module,
				  const char *build_id)
{
	char found[BUILD_ID_HEX_SZ];

	if (strcmp(b->given_id, build_id) == 0)
		return b->given;
	if (module[0] != '/' || binary__build_id(module, found) != 0 ||
	    strcmp(found, build_id) != 0)
		return NULL;
	return module;
}

/* Returns NULL if the file is not on this machine, or if out of memory. */
static struct binary *binary_find(struct binaries *b, const char *module, const char *build_id)
{
	size_t id_sz = strlen(build_id), sz = id_sz + 1 + strlen(module);
	struct binary *k, *old;

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
		return old && old->path ? old : NULL;
	}
	k->path = binary_path_of(b, k->key + id_sz + 1, build_id);
	return k->path ? k : NULL;
}

struct lines *binaries__lines(struct binaries *b, const char *module, const char *build_id)
{
	struct binary *k = binary_find(b, module, build_id);

	if (k && !k->has_lines)
		k->lines = lines__new(k->path);
	if (k)
		k->has_lines = true;
	return k ? k->lines : NULL;
}

static const struct functions *binary_functions_of(struct binary *k)
{
	if (!k->has_functions)
		k->functions = functions__new(k->path);
	k->has_functions = true;
	return k->functions;
}

/* Returns false if the text does not fit; valid paths and build IDs do. */
static bool binary_copy(char *to, size_t room, struct frame_text text)
{
	if (text.sz >= room)
		return false;
	memcpy(to, text.sz ? text.s : "", text.sz);
	to[text.sz] = '\0';
	return true;
}

void binaries__locate(struct binaries *b, struct named_frame *f)
{
	char module[PATH_MAX], build_id[BUILD_ID_HEX_SZ];
	uint64_t place = f->address + f->offset, start;
	const struct functions *functions;
	struct binary *k;

	if (f->name.sz || !binary_copy(module, sizeof(module), f->module) ||
	    !binary_copy(build_id, sizeof(build_id), f->build_id))
		return;
	k = binary_find(b, module, build_id);
	functions = k ? binary_functions_of(k) : NULL;
	if (!functions || !functions__find(functions, place, &start))
		return;
	f->address = start;
	f->offset = place - start;
	f->has_start = true;
}
