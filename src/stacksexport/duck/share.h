/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's share folder: ../share/stacks beside the folder of the executable, both when
 * installed (PREFIX/bin, PREFIX/share/stacks) and after a build (the Makefile makes
 * build/share/stacks).
 */
#ifndef STACKSEXPORT_DUCK_SHARE_H
#define STACKSEXPORT_DUCK_SHARE_H

#include <stddef.h>

/* Where PATH below the share folder is, whether it is there or not. 0 or -errno. */
int share__path(const char *path, char *out, size_t sz);

/* The text of PATH below the share folder. NULL, after saying on stderr what could not be read. */
char *share__read(const char *path);

/*
 * The text of a file that the user names: as it is, else below the share folder, or below `folder`
 * of it, where `.sql` need not be said. A former name of a query (NAME_for_command) is found, too.
 * NULL, after saying on stderr which queries there are in `folder`.
 */
char *share__read_query(const char *path, const char *folder);

#endif
