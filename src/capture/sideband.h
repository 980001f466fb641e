/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says of processes while we record: who maps, execs, forks, exits. One perf event
 * and ring per CPU that is online; CPUs may come and go. */
#ifndef CAPTURE_SIDEBAND_H
#define CAPTURE_SIDEBAND_H

#include "capture/merge.h"

#define SIDEBAND_PAGES 128 /* per CPU: some 4000 records */

struct sideband;

/* `pages` is a power of two. Nothing is recorded yet. NULL + errno, after saying what is missing.
 */
struct sideband *sideband__new(size_t pages);
void sideband__free(struct sideband *);

/* One stream per CPU that there can be, for merge__drain(); theirs as long as the sideband lives.
 */
size_t sideband__streams(struct sideband *, struct stream *const **streams);
/* Every record makes an fd readable at once: a program may be gone in a moment, and its file too.
 * 0 or -errno. */
int sideband__add_to_epoll(struct sideband *, int epoll_fd);
int sideband__enable(struct sideband *); /* 0 or -errno, said */
/*
 * Follows CPUs that come online and go; looks once a second however often it is called. Returns how
 * many came: what happened on them before this call is not known, so that /proc has to be read
 * again.
 */
int sideband__update(struct sideband *);

#endif
