/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads programs and libraries by build ID from debuginfod servers ($DEBUGINFOD_URLS). A
 * separate thread fetches one after the other, so that callers do not wait. The files are stored in
 * debuginfod's own cache.
 */
#ifndef ELF_DOWNLOADS_H
#define ELF_DOWNLOADS_H

#include "event/record.h"

struct downloads;

struct download_stats {
	size_t pending, found, failed; /* files; pending: asked for, and the one in hand */
	uint64_t got, total; /* of the one in hand, as the server says: bytes; total 0: not known */
};

/* Called by the thread while it fetches and when it has. */
typedef void (*download_fn)(const struct download_stats *, void *arg);

/*
 * `fn` may be NULL. NULL + errno: ENOENT when there is no $DEBUGINFOD_URLS, ELIBACC when
 * libdebuginfod.so.1 is not installed.
 */
struct downloads *downloads__new(download_fn fn, void *arg);
/* Breaks off the download in progress. libdebuginfod 0.192 can only be broken off when a server has
 * answered or after its time-out, 90 s: after 2 s its thread is left behind and frees the rest. */
void downloads__free(struct downloads *);

/* Once per build ID; 4096 of them, so that forged ones do not keep us busy for ever. */
void downloads__ask(struct downloads *, const struct build_id *);
/* Where the file is; NULL: not yet, or never. Lives as long as the downloads. */
const char *downloads__path(struct downloads *, const struct build_id *);
/* Until nothing is pending, or that time has passed: true when nothing is. */
bool downloads__wait(struct downloads *, uint64_t max_ns);
void downloads__stats(struct downloads *, struct download_stats *);
/* How many have been found, without a lock: has anything changed? */
size_t downloads__found(const struct downloads *);

#endif
