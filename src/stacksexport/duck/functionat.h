/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_at(module, build_id, place): returns "+0x1a2b0", the start of the function that contains
 * a frame without a name, if its file is on this machine; else null. sql/stacks.sql defines a
 * substitute that returns null for other shells.
 */
#ifndef STACKSEXPORT_DUCK_FUNCTIONAT_H
#define STACKSEXPORT_DUCK_FUNCTIONAT_H

#include "pprof/binary.h"
#include "stacksexport/duck/db.h"

#define FUNCTION_PLACE_SZ 32

/* Reads files, for one of DuckDB's threads at a time. */
struct function_places;

/* Registers it in the database, which owns *places; borrows the binaries. Returns 0 or -errno
 * (already logged). */
int function_at__register(struct db *, struct binaries *, struct function_places **places);

/* Finds the result of function_at() for a frame without a name; returns false for null. Changes the
 * frame. */
bool function_places__find(struct function_places *, struct named_frame *,
			   char text[FUNCTION_PLACE_SZ]);

#endif
