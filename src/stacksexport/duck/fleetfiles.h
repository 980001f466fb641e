/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the files of a fleet folder (docs/fleet.md), which stacksexport merge writes:
 * events/day=…/hour=…/part-*.parquet, stacks/day=…/ and processes/day=…/.
 */
#ifndef STACKSEXPORT_DUCK_FLEETFILES_H
#define STACKSEXPORT_DUCK_FLEETFILES_H

#include <stdbool.h>

#include "stacksexport/duck/recfilepair.h"

/* Returns true if the file has the name of a part. */
bool fleet_files__is_part(const char *path);

/*
 * Calls `take` for each part below `path`: a fleet folder, or one of the folders and files below
 * its events/. The latter stand for their events, and the stacks and processes of their days. In
 * each call one path is set, which `take` owns. Returns 0, also if there are none, the error of
 * `take`, or -errno.
 */
int fleet_files__each(const char *path, int (*take)(struct recfile_pair, void *), void *arg);

#endif
