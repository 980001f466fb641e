/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKSEXPORT_WEB_SQLWORDS_H
#define STACKSEXPORT_WEB_SQLWORDS_H

#include <stdbool.h>

/*
 * Whether a statement begins as those that shipped queries have before their last one: CREATE TEMP
 * TABLE, VIEW or MACRO, and SET VARIABLE. What these make lasts as long as the connection.
 */
bool sql_words__are_temporary(const char *sql);

#endif
