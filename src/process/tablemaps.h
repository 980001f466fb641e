/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How mappings get into the process table, from records and from /proc. Private to src/process. */
#ifndef PROCESS_TABLEMAPS_H
#define PROCESS_TABLEMAPS_H

#include "process/process_private.h"

/*
 * Fills *out with the mapping of a record and opens its file. The caller owns the references in
 * *out. Returns 0 or -errno.
 */
int process_table__map(struct process_table *, const struct entry *, const struct record_mmap *,
		       struct mapping *out);

/* Retries files that could not be opened before, if the file is known well enough. */
void process_table__look_again(struct process_table *, const struct entry *);

/*
 * Returns the current mappings from /proc, empty if the process is gone. Returns NULL with errno
 * set on failure.
 */
struct image *process_table__read(struct process_table *, const struct entry *);

/*
 * Sets .build_id, or .exe while the build ID is unknown, from /proc/PID/exe, else from the first
 * mapping.
 */
void process_table__name(struct process_table *, struct process *);

#endif
