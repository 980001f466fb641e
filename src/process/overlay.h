/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders of this host that a process in a container sees elsewhere; shared with its forks. */
#ifndef PROCESS_OVERLAY_H
#define PROCESS_OVERLAY_H

#include <stddef.h>

#define OVERLAY_MAX 256 /* of a process: an image has up to 127 layers */

struct overlays; /* NULL: none */

/*
 * What the process sees at `at` is below the folder `from` here. Of several that fit a path the
 * longest `at` comes first, then who was added first. 0 or -errno.
 */
int overlays__add(struct overlays **, const char *at, const char *from);
struct overlays *overlays__get(struct overlays *); /* accepts NULL, as the next */
void overlays__put(struct overlays *);

/* A handle (O_PATH) of the file in the nth place for that path; or -errno, -ERANGE when there is no
 * such place. */
int overlays__open(const struct overlays *, const char *path, size_t nth);

#endif
