/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process; shared by a process and its forks until one of them
 * changes. */
#ifndef PROCESS_IMAGE_H
#define PROCESS_IMAGE_H

#include "process/mapping.h"
#include "process/pathtab.h"

#define IMAGE_HINTS    128
#define IMAGE_MAPS_MAX 65536 /* the default of vm.max_map_count is 65530 */

struct image {
	struct pathtab *paths;
	struct mapping
		*maps; /* ascending, no overlaps; each holds a reference to its file and path */
	size_t cnt, cap;
	unsigned refs;
	uint16_t hints[IMAGE_HINTS]; /* see process__hint() */
};

struct image *image__new(struct pathtab *); /* Returns NULL with errno set on failure. */
struct image *image__get(struct image *);
void image__put(struct image *); /* accepts NULL */

/*
 * Adds a mapping and cuts away the parts of others that it overlaps. Takes ownership of the
 * mapping's references, even on failure. Copies a shared image first and sets *image to the copy.
 * Returns 0 or -errno.
 */
int image__insert(struct image **image, struct mapping *);

/*
 * Sets the file of each mapping that has a finished opening. Returns false if some openings are
 * pending.
 */
bool image__settle(struct image *);

static inline size_t image__sz(const struct image *i)
{
	return sizeof(*i) + i->cap * sizeof(*i->maps);
}

bool image__equal(const struct image *, const struct image *);

#endif
