/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_at(module, build_id, place): "+0x1a2b0", the start of the function that a frame without
 * a name is in, where its file is here; else null, as sql/stacks.sql has it for any shell.
 */
#ifndef STACKSEXPORT_DUCK_FUNCTIONAT_H
#define STACKSEXPORT_DUCK_FUNCTIONAT_H

#include "pprof/binary.h"
#include "stacksexport/duck/db.h"

/* Makes it known to the database; binaries are borrowed. 0 or -errno; reports. */
int function_at__register(struct db *, struct binaries *);

#endif
