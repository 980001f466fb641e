/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the processes without rights in which the collector parses files of others. */
#ifndef COLLECTOR_CONFINED_H
#define COLLECTOR_CONFINED_H

#include "collector/collector_options.h"
#include "worker/workers.h"

/* Call it while the collector has one thread and all its rights. Sets `*workers`, or NULL with
 * --no-sandbox. Returns 0 or -errno (already logged). */
int confined__begin(const struct collector_options *, struct workers **workers);

#endif
