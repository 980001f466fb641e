// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/overlay.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle.h"

struct overlay {
	char *at, *from;
	size_t at_sz; /* without a trailing slash */
};

struct overlays {
	unsigned refs;
	size_t cnt;
	struct overlay overlays[]; /* longest `at` first */
};

struct overlays *overlays__get(struct overlays *o)
{
	if (o)
		o->refs++;
	return o;
}

void overlays__put(struct overlays *o)
{
	if (!o || --o->refs > 0)
		return;
	for (size_t i = 0; i < o->cnt; i++) {
		free(o->overlays[i].at);
		free(o->overlays[i].from);
	}
	free(o);
}

static bool overlay_put_at(struct overlays *o, size_t i, const char *at, const char *from)
{
	size_t sz = strlen(at);

	while (sz > 0 && at[sz - 1] == '/')
		sz--;
	o->overlays[i] = (struct overlay){ strdup(at), strdup(from), sz };
	o->cnt++;
	return o->overlays[i].at && o->overlays[i].from;
}

/* Replaces *all by a copy with one more entry, because other processes may share the old list. */
int overlays__add(struct overlays **all, const char *at, const char *from)
{
	const struct overlays *old = *all;
	size_t cnt = old ? old->cnt : 0, i = 0;
	struct overlays *o;
	bool ok = true, added = false;

	if (cnt == OVERLAY_MAX)
		return -E2BIG;
	o = calloc(1, sizeof(*o) + (cnt + 1) * sizeof(o->overlays[0]));
	if (!o)
		return -ENOMEM;
	o->refs = 1;
	while (ok && o->cnt <= cnt) {
		if (!added && (i == cnt || strlen(at) > strlen(old->overlays[i].at))) {
			ok = overlay_put_at(o, o->cnt, at, from);
			added = true;
		} else {
			ok = overlay_put_at(o, o->cnt, old->overlays[i].at, old->overlays[i].from);
			i++;
		}
	}
	if (!ok) {
		overlays__put(o);
		return -ENOMEM;
	}
	overlays__put(*all);
	*all = o;
	return 0;
}

static bool overlay_covers(const struct overlay *o, const char *path)
{
	return strncmp(path, o->at, o->at_sz) == 0 && path[o->at_sz] == '/';
}

static int overlay_open_below(const char *folder, const char *path)
{
	int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (root < 0)
		return -errno;
	fd = handle__below(root, path);
	close(root);
	return fd;
}

int overlays__open(const struct overlays *o, const char *path, size_t nth)
{
	for (size_t i = 0; o && i < o->cnt; i++)
		if (overlay_covers(&o->overlays[i], path) && nth-- == 0)
			return overlay_open_below(o->overlays[i].from, path + o->overlays[i].at_sz);
	return -ERANGE;
}
