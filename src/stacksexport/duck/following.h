/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FROM following('SELECT …'): a table function over events in the order of time. The query gives
 *
 *   key      UBIGINT  of what follows each other: a thread, a process, a span
 *   moment   BIGINT   by which its rows are in order
 *   begin    BIGINT   where a row begins: the time until there, since the moment of the row before
 *   is_mark  BOOLEAN  whether it is a mark
 *   is_end   BOOLEAN  whether nothing follows it
 *
 * and any other columns of numbers, texts and bytes. following() has them for each row that is
 * neither; those whose names begin with next_ are the following row's of the same key, and those
 * with mark_ the last mark's between the two (pairing.h). What sql/stacks.sql says with windows and
 * joins, which sort all events, takes one pass so.
 */
#ifndef STACKSEXPORT_DUCK_FOLLOWING_H
#define STACKSEXPORT_DUCK_FOLLOWING_H

#include "stacksexport/duck/db.h"

/* Makes following() known to `db`, which must not move. 0 or -errno; reports. */
int following__register(struct db *);

#endif
