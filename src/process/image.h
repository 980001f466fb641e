/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of a process; shared by a process and its forks until one of them
 * changes. */
#ifndef PROCESS_IMAGE_H
#define PROCESS_IMAGE_H

#include "process/pathtab.h"
#include "process/process.h"

#define IMAGE_MAPS_MAX 65536 /* vm.max_map_count is 65530 where nobody raised it */

struct image {
	struct pathtab *paths;
	struct mapping
		*maps; /* ascending, no overlaps; each has a reference to its file and path */
	size_t cnt, cap;
	unsigned refs;
	uint16_t hints[PROCESS_HINTS];
};

struct image *image__new(struct pathtab *); /* NULL + errno */
struct image *image__get(struct image *);
void image__put(struct image *); /* accepts NULL */

/*
 * Adds a mapping, whose references it takes, also when it fails, and cuts away what it overlaps. An
 * image that others share is copied first, and *image is then the copy. 0 or -errno.
 */
int image__insert(struct image **image, struct mapping *);

/* What has been opened meanwhile becomes a file. False when some are still to be. */
bool image__settle(struct image *);
bool mapping__settle(struct mapping *);
void mapping__set_file(struct mapping *, struct elf_file *); /* takes the reference */
bool mapping__open(struct mapping *);			     /* also begins it */

bool image__equal(const struct image *, const struct image *);

#endif
