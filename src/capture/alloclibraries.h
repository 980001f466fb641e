/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a program may map which starts later: alloc attaches to them before. */
#ifndef CAPTURE_ALLOCLIBRARIES_H
#define CAPTURE_ALLOCLIBRARIES_H

#include <glob.h>

/* Finds jemalloc, tcmalloc and mimalloc in the folder of the C library of this process. Returns 0,
 * or not 0 if there are none; free with globfree() in any case. */
int alloc_libraries__find(glob_t *);
/*
 * Maps the first page of a file as code, as a program would, so that /proc/self/maps has the device
 * and inode under which later mappings appear: some file systems report others in stat(2). The page
 * is never read. Leaves a file alone if a user may have mounted its file system, which may not
 * answer. Returns NULL if the file cannot be mapped.
 */
void *code_page__map(const char *path);
void code_page__unmap(void *);

#endif
