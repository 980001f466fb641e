/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of commands to record that no process has. */
#ifndef COLLECTOR_ABSENT_H
#define COLLECTOR_ABSENT_H

struct capture_filter;

/* Warns of each name of the filter that no process has now, because the user may have meant a
 * command to launch. Silent if /proc cannot be read. */
void absent__report(const struct capture_filter *);

#endif
