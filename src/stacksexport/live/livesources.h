/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector records that `stacksexport live` starts. */
#ifndef STACKSEXPORT_LIVE_LIVESOURCES_H
#define STACKSEXPORT_LIVE_LIVESOURCES_H

/* Returns `sources` as the collector's -p, to be freed, or NULL without memory. Sources that the
 * screen shows have user and kernel stacks unless their item names the stacks. */
char *live_sources__with_stacks(const char *sources);

#endif
