/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where ELF files are when the process that mapped them cannot be asked: below a sysroot, and by
 * build ID in trees of files and on debuginfod servers.
 */
#ifndef PROCESS_FINDER_H
#define PROCESS_FINDER_H

#include "elf/downloads.h"

struct finder_options {
	const char *sysroot;	 /* NULL: none. The root folder of the machine that was recorded */
	const char *const *dirs; /* trees with XX/REST; the last is NULL; NULL: the usual ones */
	bool debuginfod;	 /* servers of $DEBUGINFOD_URLS are asked, when it is set */
	download_fn progress;	 /* NULL, or called by the thread that downloads */
	void *arg;
};

struct finder;

/* NULL + errno: of the sysroot, or ELIBACC without libdebuginfod. */
struct finder *finder__new(const struct finder_options *);
void finder__free(struct finder *);

/* A handle (O_PATH) of the file with that path below the sysroot; or -errno. */
int finder__by_path(const struct finder *, const char *path);

/* A handle of what is in the nth place where a file with that build ID should be; or -errno,
 * -ERANGE when there is no such place. */
int finder__by_build_id(struct finder *, const struct build_id *, size_t nth);

/* Whoever finds nothing asks for it to be downloaded: then it is in one of these places. */
void finder__ask(struct finder *, const struct build_id *);
size_t finder__found(const struct finder *); /* downloads */
bool finder__wait(struct finder *, uint64_t max_ns);
void finder__stats(struct finder *, struct download_stats *);

#endif
