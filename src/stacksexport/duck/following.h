/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FROM following('SELECT …', FILES): a table function over events in the order of time. FILES is
 * the number of files that the connection reads, the first ones of the recording. The query has the
 * columns
 *
 *   key      UBIGINT  the sequence: a thread, a process, a span
 *   moment   BIGINT   the order of the rows of a key
 *   begin    BIGINT   the time from the previous row's moment to the begin of this row
 *   is_mark  BOOLEAN  true for a mark
 *   is_end   BOOLEAN  true if no row follows
 *
 * and any other columns of numbers, texts and bytes. following() returns them for each row that is
 * neither a mark nor an end. Columns with names that begin with next_ have the value of the
 * following row of the same key; those with mark_ have that of the last mark between the two
 * (pairing.h). It takes one pass, where windows and joins in sql/stacks.sql would sort all events.
 */
#ifndef STACKSEXPORT_DUCK_FOLLOWING_H
#define STACKSEXPORT_DUCK_FOLLOWING_H

#include "stacksexport/duck/db.h"

/* Registers following() in `db`, which must not move. Returns 0 or -errno (already logged). */
int following__register(struct db *);

#endif
