/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host directories that a process in a container sees elsewhere. Shared with its forks. */
#ifndef PROCESS_OVERLAY_H
#define PROCESS_OVERLAY_H

#include <stddef.h>

#define OVERLAY_MAX 256 /* per process; an image has up to 127 layers */

struct overlays; /* NULL: none */

/*
 * Maps `at` in the process to the host directory `from`. Of several matches the longest `at` is
 * tried first, then the one added first. Returns 0 or -errno.
 */
int overlays__add(struct overlays **, const char *at, const char *from);
struct overlays *overlays__get(struct overlays *); /* accepts NULL, as the next */
void overlays__put(struct overlays *);

/*
 * Returns a handle (O_PATH) for the file in the nth place for that path, or -errno. Returns
 * -ERANGE if there is no such place.
 */
int overlays__open(const struct overlays *, const char *path, size_t nth);

#endif
