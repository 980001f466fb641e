// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/newest.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"

static const struct {
	int64_t from_s, unit_s;
	const char *unit;
} newest_units[] = { { 2 * 86400, 86400, "days" }, { 2 * 3600, 3600, "h" }, { 120, 60, "min" } };

void newest__age(time_t then, time_t now, char age[NEWEST_AGE_SZ])
{
	int64_t ago_s = now > then ? (int64_t)now - (int64_t)then : 0, unit_s = 1;
	const char *unit = "s";

	for (size_t i = sizeof(newest_units) / sizeof(*newest_units); i-- > 0;) {
		if (ago_s < newest_units[i].from_s)
			break;
		unit_s = newest_units[i].unit_s;
		unit = newest_units[i].unit;
	}
	snprintf(age, NEWEST_AGE_SZ, "%lld %s ago", (long long)(ago_s / unit_s), unit);
}

void newest__report(const struct recfiles *r)
{
	char age[NEWEST_AGE_SZ];
	time_t written = 0;
	struct stat st;

	for (size_t i = 0; i < r->cnt; i++) {
		const char *events = r->pairs[i].events;

		if (events && stat(events, &st) == 0 && st.st_mtime > written)
			written = st.st_mtime;
	}
	newest__age(written, time(NULL), age);
	log__info("%s is the newest recording, written %s", r->label, age);
}
