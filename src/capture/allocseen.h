/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that processes map, as the probe alloc has seen them: it looks into each once, and
 * again some time after workers failed. */
#ifndef CAPTURE_ALLOCSEEN_H
#define CAPTURE_ALLOCSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOC_SEEN_MAX 4096 /* files of all processes, with or without allocation functions */

struct alloc_seen_file {
	uint64_t dev, ino; /* ino 0: the whole device */
	uint32_t own;	   /* the process that it is attached for; 0: all */
};

struct alloc_seen {
	struct alloc_seen_entry {
		struct alloc_seen_file file;
		uint32_t tgid;	   /* a process that maps a file to be looked into again */
		uint64_t retry_ns; /* the time for that; 0: never */
	} at[ALLOC_SEEN_MAX];
	size_t cnt;
	size_t failed_cnt; /* entries to be looked into again */
};

/* Returns true if the file, which the process maps, is to be looked into now. It is then known.
 * Beyond ALLOC_SEEN_MAX no file is new. */
bool alloc_seen__add(struct alloc_seen *, const struct alloc_seen_file *, uint32_t tgid,
		     uint64_t now_ns);
/* Forgets a file that could not be opened: another process may have it. */
void alloc_seen__remove(struct alloc_seen *, const struct alloc_seen_file *);
/* Workers could not read the file: it is to be looked into again in half a minute. */
void alloc_seen__fail(struct alloc_seen *, const struct alloc_seen_file *, uint64_t now_ns);
/* Returns a process that maps a file for which that time has come, and sets `*own`; 0: none. Each
 * file is returned once for each process that maps it, until it is added again. */
uint32_t alloc_seen__due(struct alloc_seen *, uint64_t now_ns, uint32_t *own);

#endif
