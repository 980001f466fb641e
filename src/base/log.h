/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for people: one line each on stderr, "PROGRAM: message". */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* The program's name and the most detailed level that is shown; LOG_INFO before the first call. */
void log__init(const char *program, enum log_level);

/* Called before each line is printed, to clear a live status line; NULL: nothing to clear. */
void log__set_before(void (*before)(void));

#define LOG_PRINTF __attribute__((format(printf, 1, 2)))
LOG_PRINTF void log__error(const char *fmt, ...);
LOG_PRINTF void log__warn(const char *fmt, ...);
LOG_PRINTF void log__info(const char *fmt, ...);
LOG_PRINTF void log__debug(const char *fmt, ...);

#endif
