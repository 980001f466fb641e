/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads programs and libraries by build ID from debuginfod servers ($DEBUGINFOD_URLS). A
 * separate thread downloads one file at a time, so that callers do not wait. debuginfod's own cache
 * stores the files.
 */
#ifndef ELF_DOWNLOADS_H
#define ELF_DOWNLOADS_H

#include "event/record.h"

struct downloads;

struct download_stats {
	size_t pending, found, failed; /* files; pending: requested, including the current one */
	/* bytes of the current file; total as the server reports it, 0: unknown */
	uint64_t got, total;
};

/* The thread calls it about once a second during a download, and after each. */
typedef void (*download_fn)(const struct download_stats *, void *arg);

/*
 * `fn` may be NULL. Returns NULL and sets errno: ENOENT without $DEBUGINFOD_URLS, ELIBACC if
 * libdebuginfod.so.1 is not installed.
 */
struct downloads *downloads__new(download_fn fn, void *arg);
/* Aborts the current download. libdebuginfod 0.192 can abort only after a server has answered, or
 * after its time-out of 90 s. After 2 s this function returns without the thread, which then frees
 * the rest. */
void downloads__free(struct downloads *);

/* Requests a file. Ignores repeated requests for a build ID, and those for more than 4096 build
 * IDs, to bound the work for forged ones. */
void downloads__request(struct downloads *, const struct build_id *);
/* Returns the file's path, valid until downloads__free(), or NULL if the file was not requested, is
 * not complete yet, or could not be downloaded. */
const char *downloads__path(struct downloads *, const struct build_id *);
/* Waits until no download is pending, or until `max_ns` have passed. Returns whether none is
 * pending. */
bool downloads__wait(struct downloads *, uint64_t max_ns);
void downloads__stats(struct downloads *, struct download_stats *);
/* Returns the number of files found. Takes no lock: for detecting changes. */
size_t downloads__found(const struct downloads *);

#endif
