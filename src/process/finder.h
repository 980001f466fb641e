/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds ELF files without the process that mapped them: below a sysroot, and by build ID in
 * directory trees and on debuginfod servers.
 */
#ifndef PROCESS_FINDER_H
#define PROCESS_FINDER_H

#include "elf/downloads.h"

struct finder_options {
	const char *sysroot;	 /* root directory of the recorded machine; NULL: none */
	const char *const *dirs; /* trees with XX/REST, NULL-terminated; NULL: the default trees */
	bool debuginfod;	 /* query the servers of $DEBUGINFOD_URLS, if it is set */
	download_fn progress;	 /* NULL, or called by the download thread */
	void *arg;
};

struct finder;

/*
 * Returns NULL with errno set if the sysroot cannot be opened, or with ELIBACC if libdebuginfod
 * is missing.
 */
struct finder *finder__new(const struct finder_options *);
void finder__free(struct finder *);

/* Returns a handle (O_PATH) for the file at `path` below the sysroot, or -errno. */
int finder__by_path(const struct finder *, const char *path);

/*
 * Returns a handle for the nth place where a file with this build ID should be, or -errno.
 * Returns -ERANGE if there is no such place.
 */
int finder__by_build_id(struct finder *, const struct build_id *, size_t nth);

/*
 * Requests a download. Call it if no place has the file; the downloaded file then appears in one
 * of these places.
 */
void finder__request_download(struct finder *, const struct build_id *);
size_t finder__found(const struct finder *); /* number of completed downloads */
bool finder__wait(struct finder *, uint64_t max_ns);
void finder__stats(struct finder *, struct download_stats *);

#endif
