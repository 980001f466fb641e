/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line on the terminal while a command takes long: what is read, which query runs, how far it
 * is. It appears after half a second, only if stderr is a terminal, and leaves nothing behind.
 * Messages of base/log.h erase it first.
 */
#ifndef STACKSEXPORT_PROGRESS_H
#define STACKSEXPORT_PROGRESS_H

#include <duckdb.h>

#include "stacksexport/duck/recfiles.h"

/* Starts to show that these files are read. Does nothing if a line is shown already. */
void progress__begin(const struct recfiles *);

/* A query begins on the connection; NULL: the latest one has ended. Any thread may call it. */
void progress__query(duckdb_connection);

/* Erases the line. Must be called before the first byte of output. */
void progress__end(void);

#endif
