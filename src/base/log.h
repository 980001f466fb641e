/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for the user: one line each on stderr, "PROGRAM: message". */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/*
 * Sets the program's name and the most detailed level that is shown; LOG_INFO before the first
 * call. Opens standard streams that the caller closed on /dev/null: another file must not get their
 * numbers, and with them the messages.
 */
void log__init(const char *program, enum log_level);

/* Called before each line is printed, to clear a live status line; NULL: nothing to clear. */
void log__set_before(void (*before)(void));

/* Returns whether stderr accepts a few lines within `wait_ms`. A full pipe without a reader does
 * not, and must not block the program: messages that cannot be printed are dropped. */
bool log__writable(int wait_ms);

#define LOG_PRINTF __attribute__((format(printf, 1, 2)))
LOG_PRINTF void log__error(const char *fmt, ...);
LOG_PRINTF void log__warn(const char *fmt, ...);
/* The answer to a request: shown at every level. */
LOG_PRINTF void log__answer(const char *fmt, ...);
LOG_PRINTF void log__info(const char *fmt, ...);
LOG_PRINTF void log__debug(const char *fmt, ...);

#endif
