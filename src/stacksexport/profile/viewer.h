/* SPDX-License-Identifier: GPL-2.0-or-later */
/* google/pprof on a file that was written. */
#ifndef STACKSEXPORT_PROFILE_VIEWER_H
#define STACKSEXPORT_PROFILE_VIEWER_H

#include <stdbool.h>

/*
 * Runs pprof's web view on the file, when pprof is in $PATH, a person is at the terminal and `open`
 * is set, and waits until it ends; else says on stderr how to look at the file.
 */
void viewer__show(const char *path, bool open);

#endif
