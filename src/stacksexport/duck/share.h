/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the program's share folder: ../share/stacks beside the folder of the executable, both when
 * installed (PREFIX/bin, PREFIX/share/stacks) and after a build (the Makefile makes
 * build/share/stacks).
 */
#ifndef STACKSEXPORT_DUCK_SHARE_H
#define STACKSEXPORT_DUCK_SHARE_H

#include <stddef.h>

/* Writes the full path of PATH below the share folder, which may not exist. Returns 0 or -errno. */
int share__path(const char *path, char *out, size_t sz);

/* Reads PATH below the share folder. Returns NULL after logging what could not be read. */
char *share__read(const char *path);

/*
 * Reads a file that the user names: at this path, else below the share folder, or below its folder
 * `folder`, where `.sql` may be left out. Also finds former names of queries (NAME_for_command).
 * Returns NULL after printing the queries of `folder`.
 */
char *share__read_query(const char *path, const char *folder);

#endif
