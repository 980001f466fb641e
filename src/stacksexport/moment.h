/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments of a recording, as people type them. */
#ifndef STACKSEXPORT_MOMENT_H
#define STACKSEXPORT_MOMENT_H

#include <stdint.h>

enum moment_base { MOMENT_SINCE_1970, MOMENT_SINCE_START, MOMENT_BEFORE_END };

struct moment {
	enum moment_base base;
	int64_t ns; /* not negative */
};

/* The forms that moment__parse() takes, for messages. */
#define MOMENT_FORMS                                                                     \
	"a time such as 10s (after the start of the recording), -30s (before its end), " \
	"2026-11-25T10:15:00 or seconds since 1970"

/*
 * Parses 10s and -30s (any unit of parse__duration()), an ISO 8601 date and time, with a fraction
 * and a zone if need be (else local time), and seconds since 1970. Returns 0, -EINVAL or -ERANGE.
 */
int moment__parse(const char *, struct moment *);

/* Returns nanoseconds since 1970, for a recording from `start_ns` to `end_ns`. */
int64_t moment__resolve(const struct moment *, int64_t start_ns, int64_t end_ns);

#define MOMENT_TEXT_SZ 64

/* Writes the local date and time with its zone, or an empty text if the year cannot be written. */
void moment__format(int64_t since_1970_ns, char text[MOMENT_TEXT_SZ]);

#endif
