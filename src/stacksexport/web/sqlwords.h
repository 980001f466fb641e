/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKSEXPORT_WEB_SQLWORDS_H
#define STACKSEXPORT_WEB_SQLWORDS_H

#include <stdbool.h>

/*
 * Returns true if a statement may come before the last one of a query, as in shipped queries:
 * CREATE TEMP TABLE, VIEW or MACRO, and SET VARIABLE. Their results last as long as the
 * connection.
 */
bool sql_words__are_temporary(const char *sql);

#endif
