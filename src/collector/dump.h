/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COLLECTOR_DUMP_H
#define COLLECTOR_DUMP_H

/* Triggers the flight recorder of the running collector that writes this status file. Returns the
 * exit status of the program; a failure was logged. */
int dump__trigger(const char *status_path);

#endif
