/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of events by process, container and so on: --by. */
#ifndef STACKSEXPORT_GROUPING_H
#define STACKSEXPORT_GROUPING_H

#include "stacksexport/request.h"

#define GROUPING_MAX 100

/* The groups of a recording's events, those with most events first. The others are one group. */
struct grouping {
	char *names[GROUPING_MAX];
	size_t cnt;
	size_t others; /* groups beyond GROUPING_MAX */
	bool failed;   /* out of memory */
};

/* Checks --by. Returns STATUS_OK, or STATUS_USAGE after a message. */
int grouping__check(const struct export_options *);
/* Like grouping__check() for timelines. A track is a thread, which is in many spans: refuses
 * "span". */
int grouping__check_tracks(const struct export_options *);
/* Sets what group_of() groups by, unless it is NULL. Returns 0 or -errno (reported). */
int grouping__use(struct db *, const char *by);
/* Finds the groups by `by`. Returns 0 or -errno (reported). Call grouping__free() in either case.
 */
int grouping__read(struct grouping *, struct request *, const char *by);
/* Selects the group with this index in the views; .cnt: the groups that have none; above: all.
 * Returns 0 or -errno (reported). */
int grouping__select(const struct grouping *, struct db *, size_t idx);
/* How many groups grouping__select() takes, with that of the others. */
size_t grouping__cnt(const struct grouping *);
/* Returns the name of the group with this index. */
const char *grouping__name(const struct grouping *, size_t idx);
void grouping__free(struct grouping *);

#endif
