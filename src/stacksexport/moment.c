// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"

#define SECOND_NS 1000000000LL

/* Smaller numbers without a unit are durations without their unit. */
#define SINCE_1970_MIN_NS (100000000LL * SECOND_NS)

/* Times beyond it may overflow when a duration is added (year 2116). */
#define SINCE_1970_MAX_NS (INT64_MAX / 2)

static int moment_relative(const char *s, struct moment *m)
{
	uint64_t ns;
	bool is_before_end = *s == '-';
	int err = parse__duration(s + (*s == '-' || *s == '+'), &ns);

	if (err)
		return err;
	if (ns > SINCE_1970_MAX_NS)
		return -ERANGE;
	*m = (struct moment){ is_before_end ? MOMENT_BEFORE_END : MOMENT_SINCE_START, (int64_t)ns };
	return 0;
}

static int moment_absolute(int64_t seconds, uint64_t ns, struct moment *m)
{
	if (seconds < 0 || seconds > SINCE_1970_MAX_NS / SECOND_NS - 1)
		return -ERANGE;
	*m = (struct moment){ MOMENT_SINCE_1970, seconds * SECOND_NS + (int64_t)ns };
	return 0;
}

/* 1764065443 or 1764065443.25: the text as a duration in seconds. */
static int moment_unix(const char *s, struct moment *m)
{
	char text[64];
	uint64_t ns;
	int err;

	if (snprintf(text, sizeof(text), "%ss", s) >= (int)sizeof(text))
		return -EINVAL;
	err = parse__duration(text, &ns);
	if (err)
		return err;
	if (ns < SINCE_1970_MIN_NS)
		return -EINVAL;
	return moment_absolute((int64_t)(ns / SECOND_NS), ns % SECOND_NS, m);
}

static const char *const iso_forms[] = {
	"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d",
};

/* Returns the text behind the date and time, or NULL. The first form that fits is the longest. */
static const char *moment_date(const char *s, struct tm *tm)
{
	const char *end = NULL;

	for (size_t i = 0; !end && i < sizeof(iso_forms) / sizeof(iso_forms[0]); i++) {
		*tm = (struct tm){ .tm_isdst = -1 };
		end = strptime(s, iso_forms[i], tm);
	}
	return end;
}

/* ".25": *ns is that part of a second. Returns the text behind it, or NULL. */
static const char *moment_fraction(const char *s, uint64_t *ns)
{
	size_t digits = *s == '.' ? strspn(s + 1, "0123456789") : 0;
	char text[64];

	*ns = 0;
	if (*s != '.')
		return s;
	if (!digits || snprintf(text, sizeof(text), "0.%.*ss", (int)digits, s + 1) >= 64 ||
	    parse__duration(text, ns) != 0)
		return NULL;
	return s + 1 + digits;
}

static int moment_iso(const char *s, struct moment *m)
{
	struct tm tm, zone = { 0 };
	const char *end = moment_date(s, &tm);
	uint64_t ns;

	end = end ? moment_fraction(end, &ns) : NULL;
	if (!end)
		return -EINVAL;
	if (!*end)
		return moment_absolute(mktime(&tm), ns, m);
	end = strptime(end, "%z", &zone);
	return end && !*end ? moment_absolute(timegm(&tm) - zone.tm_gmtoff, ns, m) : -EINVAL;
}

int moment__parse(const char *s, struct moment *m)
{
	static int (*const forms[])(const char *, struct moment *) = { moment_relative, moment_unix,
								       moment_iso };
	int err = -EINVAL;

	for (size_t i = 0; err == -EINVAL && i < sizeof(forms) / sizeof(forms[0]); i++)
		err = forms[i](s, m);
	return err;
}

int64_t moment__resolve(const struct moment *m, int64_t start_ns, int64_t end_ns)
{
	switch (m->base) {
	case MOMENT_SINCE_START: return start_ns + m->ns;
	case MOMENT_BEFORE_END: return end_ns - m->ns;
	case MOMENT_SINCE_1970: return m->ns;
	}
	return m->ns;
}

void moment__format(int64_t since_1970_ns, char text[MOMENT_TEXT_SZ])
{
	time_t seconds = (time_t)(since_1970_ns / SECOND_NS);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(text, MOMENT_TEXT_SZ, "%F %T %z", &local))
		text[0] = '\0';
}
