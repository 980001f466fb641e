// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "process/openjob.h"

struct image *image__new(struct pathtab *paths)
{
	struct image *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->paths = paths;
	i->refs = 1;
	return i;
}

struct image *image__get(struct image *i)
{
	i->refs++;
	return i;
}

static void image_release(struct image *i, struct mapping *m)
{
	elf_file__put(m->file);
	open_job__put(m->opening);
	pathtab__put(i->paths, m->path);
}

static struct mapping image_part(const struct mapping *m, uint64_t start, uint64_t end)
{
	struct mapping p = *m;

	p.pgoff += start - m->start;
	p.start = start;
	p.end = end;
	elf_file__get(p.file);
	open_job__get(p.opening);
	pathtab__get(p.path);
	return p;
}

void image__put(struct image *i)
{
	if (!i || --i->refs > 0)
		return;
	for (size_t n = 0; n < i->cnt; n++)
		image_release(i, &i->maps[n]);
	free(i->maps);
	free(i);
}

static int image_reserve(struct image *i, size_t cnt)
{
	size_t cap = i->cap ? i->cap : 8;
	struct mapping *maps;

	if (cnt > IMAGE_MAPS_MAX)
		return -E2BIG;
	while (cap < cnt)
		cap *= 2;
	if (cap == i->cap)
		return 0;
	maps = realloc(i->maps, cap * sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	i->maps = maps;
	i->cap = cap;
	return 0;
}

static struct image *image_copy(const struct image *from)
{
	struct image *i = image__new(from->paths);

	if (!i || image_reserve(i, from->cnt + 1) != 0) {
		image__put(i);
		return NULL;
	}
	for (; i->cnt < from->cnt; i->cnt++)
		i->maps[i->cnt] = image_part(&from->maps[i->cnt], from->maps[i->cnt].start,
					     from->maps[i->cnt].end);
	return i;
}

/* Returns the index of the first mapping that ends after addr. */
static size_t image_first_after(const struct image *i, uint64_t addr)
{
	return SEARCH_COUNT(i->maps, i->cnt, m, m->end <= addr);
}

static bool image_same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff &&
	       a->kind == b->kind && a->file == b->file && a->opening == b->opening &&
	       a->path == b->path && build_id__equal(&a->build_id, &b->build_id);
}

bool image__settle(struct image *i)
{
	bool all = true;

	for (size_t n = 0; n < i->cnt; n++)
		all &= mapping__settle(&i->maps[n]);
	return all;
}

bool image__equal(const struct image *a, const struct image *b)
{
	if (a->cnt != b->cnt)
		return false;
	for (size_t n = 0; n < a->cnt; n++)
		if (!image_same(&a->maps[n], &b->maps[n]))
			return false;
	return true;
}

/*
 * Replaces maps[from … to - 1] by m and by the parts of them that extend beyond m on either side.
 */
static int image_replace(struct image *i, size_t from, size_t to, const struct mapping *m)
{
	struct mapping put[3];
	size_t cnt = 0;
	int err = image_reserve(i, i->cnt + 2);

	if (err)
		return err;
	if (from < to && i->maps[from].start < m->start)
		put[cnt++] = image_part(&i->maps[from], i->maps[from].start, m->start);
	put[cnt++] = *m;
	if (from < to && i->maps[to - 1].end > m->end)
		put[cnt++] = image_part(&i->maps[to - 1], m->end, i->maps[to - 1].end);
	for (size_t n = from; n < to; n++)
		image_release(i, &i->maps[n]);
	memmove(&i->maps[from + cnt], &i->maps[to], (i->cnt - to) * sizeof(*m));
	memcpy(&i->maps[from], put, cnt * sizeof(*m));
	i->cnt += cnt - (to - from);
	return 0;
}

static int image_insert(struct image **image, const struct mapping *m)
{
	size_t from = image_first_after(*image, m->start), to = from;
	struct image *own = *image;

	while (to < own->cnt && own->maps[to].start < m->end)
		to++;
	if (to == from + 1 && image_same(&own->maps[from], m))
		return -EEXIST;
	if (own->refs > 1) {
		own = image_copy(own);
		if (!own)
			return -ENOMEM;
		image__put(*image);
		*image = own;
	}
	return image_replace(own, from, to, m);
}

int image__insert(struct image **image, struct mapping *m)
{
	int err = m->end > m->start ? image_insert(image, m) : -EINVAL;

	if (err)
		image_release(*image, m);
	return err == -EEXIST ? 0 : err;
}
