// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/elffile.h"
#include "base/rangemap.h"
#include "cfi/reader.h"
#include "elf/code.h"
#include "elf/section.h"

#define FRAMES_SZ_MAX (256u << 20) /* bytes; the largest browsers have about 30 MB */

struct functions {
	struct range_map map; /* address → index in starts */
	uint64_t *starts;
	size_t cnt, cap;
	struct addr_range *spans; /* used while reading */
	size_t span_cap;
	int err;
};

static void functions_append(struct cfi_fde *fde, void *arg)
{
	struct functions *f = arg;
	uint64_t *starts = f->err ? NULL : array__room(f->starts, f->cnt, &f->cap, sizeof(*starts));
	struct addr_range *spans;

	if (starts)
		f->starts = starts;
	spans = starts ? array__room(f->spans, f->cnt, &f->span_cap, sizeof(*spans)) : NULL;
	if (!spans) {
		f->err = -ENOMEM;
		return;
	}
	f->spans = spans;
	f->starts[f->cnt] = fde->start;
	f->spans[f->cnt] =
		(struct addr_range){ fde->start, fde->start + fde->sz, (uint32_t)f->cnt };
	f->cnt++;
}

static int functions_read_frames(struct functions *f, const struct elf_file *file)
{
	struct cfi_section frames = { .eh = true };
	struct cfi_reader reader = { .section = &frames };
	GElf_Shdr shdr;
	uint8_t *bytes;
	int err;

	if (!section__named(file, ".eh_frame", &shdr) || shdr.sh_type == SHT_NOBITS)
		return -ENOENT;
	if (shdr.sh_size > FRAMES_SZ_MAX || shdr.sh_size > file->sz)
		return -EINVAL;
	bytes = malloc(shdr.sh_size ? shdr.sh_size : 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file__read(file, shdr.sh_offset, bytes, shdr.sh_size);
	if (!err) {
		frames.data = bytes;
		frames.sz = shdr.sh_size;
		frames.vaddr = shdr.sh_addr;
		cfi_reader__each(&reader, functions_append, f);
		err = f->err;
	}
	free(bytes);
	return err;
}

struct functions *functions__new(const char *path)
{
	struct functions *f = calloc(1, sizeof(*f));
	struct elf_file *file;
	int err;

	if (!f)
		return NULL;
	file = elf_file__open(path);
	err = file ? functions_read_frames(f, file) : -errno;
	elf_file__put(file);
	if (!err)
		err = range_map__build(&f->map, f->spans, f->cnt);
	free(f->spans);
	f->spans = NULL;
	if (!err)
		return f;
	functions__free(f);
	return errno = -err, NULL;
}

void functions__free(struct functions *f)
{
	if (!f)
		return;
	range_map__free(&f->map);
	free(f->starts);
	free(f);
}

bool functions__find(const struct functions *f, uint64_t vaddr, uint64_t *start)
{
	uint32_t at = range_map__find(&f->map, vaddr);

	if (at != RANGE_NONE)
		*start = f->starts[at];
	return at != RANGE_NONE;
}
