/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's own records about processes while we record: mmap, exec, fork, exit. One perf event
 * and ring per online CPU; CPUs may come and go. */
#ifndef CAPTURE_SIDEBAND_H
#define CAPTURE_SIDEBAND_H

#include "capture/merge.h"

#define SIDEBAND_PAGES 128 /* per CPU: some 4000 records */

struct sideband;

/* `pages` is a power of two. Does not record yet. Returns NULL and sets errno after logging what is
 * missing. */
struct sideband *sideband__new(size_t pages);
void sideband__free(struct sideband *);

/* Sets one stream per possible CPU, for merge__drain(). The streams live as long as the sideband.
 */
size_t sideband__streams(struct sideband *, struct stream *const **streams);
/* Every record makes an fd readable at once, because a program, and its file, may be gone in a
 * moment. Returns 0 or -errno. */
int sideband__add_to_epoll(struct sideband *, int epoll_fd);
int sideband__enable(struct sideband *); /* 0 or -errno (already logged) */
/*
 * Follows CPUs that come online and go; looks at most once a second. Returns how many came online:
 * what happened on them before this call is unknown, so /proc must be read again.
 */
int sideband__update(struct sideband *);

#endif
