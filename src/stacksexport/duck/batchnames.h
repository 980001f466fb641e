/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the files of a batch: events-N.parquet and those beside it. */
#ifndef STACKSEXPORT_DUCK_BATCHNAMES_H
#define STACKSEXPORT_DUCK_BATCHNAMES_H

#define BATCH_EVENTS	  "events-"
#define BATCH_STACKTRACES "stacktraces-"
#define BATCH_PROCESSES	  "processes-"
#define BATCH_SUFFIX	  ".parquet"

/* Returns the last part of a path. */
const char *batch_name__of(const char *path);

/* Returns what the name of a batch's file begins with, or NULL if it is no such file. */
const char *batch_name__prefix(const char *path);

/* Returns the path of the file of the same batch with another prefix; the caller frees it. NULL: no
 * memory. */
char *batch_name__sibling(const char *path, const char *prefix);

#endif
