/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a fleet folder, and which of them a store has. The list of those is in
 * _stacks/pushed/ID, one line per file, where ID stands for the store. */
#ifndef STACKSEXPORT_PUSH_PUSHFILES_H
#define STACKSEXPORT_PUSH_PUSHFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct push_file {
	char *name; /* "events/day=2026-11-26/hour=07/part-ID.parquet" */
	uint64_t sz;
	int64_t mtime_ns;
	bool is_sent;
};

struct push_files {
	const char *folder;
	char *list_path;	 /* of the list */
	struct push_file *files; /* stacks first, then processes, events; each by name */
	size_t cnt, cap;
	size_t unsent_cnt;
	uint64_t unsent_sz;
};

/* Finds the files, and what `url` has. Can be called again. Returns 0 or -errno (already logged).
 * Call push_files__free() in either case. */
int push_files__find(struct push_files *, const char *folder, const char *url);
void push_files__free(struct push_files *);

/* Enters a file into the list, on disk. Returns 0 or -errno (already logged). */
int push_files__mark_sent(struct push_files *, struct push_file *);

/* Removes files. Returns 0 or -errno (already logged). */
int push_files__remove(struct push_files *, const struct push_file *);

#endif
