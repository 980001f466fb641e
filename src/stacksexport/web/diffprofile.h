/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A difference as a profile of google/pprof, as its option -diff_base makes it. */
#ifndef STACKSEXPORT_WEB_DIFFPROFILE_H
#define STACKSEXPORT_WEB_DIFFPROFILE_H

#include "stacksexport/web/sides.h"

/* Writes B less A, both of which have been read, to `path` (outfile.h). Returns 0 or -errno, after
 * reporting. */
int diff_profile__write(struct sides *, const char *path);

#endif
