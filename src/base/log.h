/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for people: one line each on stderr, "PROGRAM: message". */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/*
 * The program's name and the most detailed level that is shown; LOG_INFO before the first call.
 * Standard streams that the caller closed lead to /dev/null from then on: no file of ours may get
 * their numbers, and with them what is meant for people.
 */
void log__init(const char *program, enum log_level);

/* Called before each line is printed, to clear a live status line; NULL: nothing to clear. */
void log__set_before(void (*before)(void));

/* Whether stderr takes a few lines, now or within that time. A pipe that is full because nobody
 * reads it does not, and must hold nobody up: what log__*() cannot print is dropped. */
bool log__writable(int wait_ms);

#define LOG_PRINTF __attribute__((format(printf, 1, 2)))
LOG_PRINTF void log__error(const char *fmt, ...);
LOG_PRINTF void log__warn(const char *fmt, ...);
LOG_PRINTF void log__info(const char *fmt, ...);
LOG_PRINTF void log__debug(const char *fmt, ...);

#endif
