/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_at(module, build_id, place): "+0x1a2b0", the start of the function that a frame without
 * a name is in, where its file is here; else null, as sql/stacks.sql has it for any shell.
 */
#ifndef STACKSEXPORT_DUCK_FUNCTIONAT_H
#define STACKSEXPORT_DUCK_FUNCTIONAT_H

#include "pprof/binary.h"
#include "stacksexport/duck/db.h"

#define FUNCTION_PLACE_SZ 32

/* Looks into files, for one of DuckDB's threads at a time. */
struct function_places;

/* Makes it known to the database, which owns *places; binaries are borrowed. 0 or -errno; reports.
 */
int function_at__register(struct db *, struct binaries *, struct function_places **places);

/* What function_at() gives for a frame without a name; false for null. Changes the frame. */
bool function_places__find(struct function_places *, struct named_frame *,
			   char text[FUNCTION_PLACE_SZ]);

#endif
