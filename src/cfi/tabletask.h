/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds tables in a worker (worker/workers.h), which reads the file. */
#ifndef CFI_TABLETASK_H
#define CFI_TABLETASK_H

#include "cfi/table.h"
#include "elf/elffile.h"
#include "worker/workers.h"

struct table_request {
	const struct elf_file *file; /* its fd, path, build_id, trusted, owner and dev are used */
	const struct cfi_table *cached; /* a table of this build ID from the cache; NULL: none */
	bool whole; /* build the table if the cached one is not of the file's present contents */
};

/*
 * Asks a worker. Returns 0 and a checked malloc()ed table in `*table`; or 0 and NULL if the cached
 * table belongs to the file. Returns an error of cfi_table__of_file(), -ENOENT also if nothing was
 * to be built, or an error for which workers__failed() is true.
 */
int table_task__request(struct workers *, const struct table_request *, struct cfi_table **table);

/* The function for TASK_TABLE, in a worker. */
int table_task__run(struct task *);

#endif
