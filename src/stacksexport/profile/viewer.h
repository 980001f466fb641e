/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a file that was written with google/pprof. */
#ifndef STACKSEXPORT_PROFILE_VIEWER_H
#define STACKSEXPORT_PROFILE_VIEWER_H

#include <stdbool.h>

/* Runs pprof's web view on the file if pprof is in $PATH, stderr is a terminal and `open` is set,
 * and waits until it ends. Otherwise prints to stderr how to look at the file. */
void viewer__show(const char *path, bool open);

#endif
