// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/sources.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/kind.h"

#define KIND(id) (1ull << EVENT_##id)

_Static_assert(EVENT_KIND_CNT <= 64, "sets of kinds are 64 bits");

/* The kinds of events in each view of sql/stacks.sql, and the columns that only exist with a
 * source. */
static const struct {
	const char *view;
	uint64_t kinds;
} views[] = {
	{ "offcpu", KIND(SWITCH) },
	{ "wakeups", KIND(SWITCH) | KIND(WAKE) },
	{ "rss", KIND(RSS) },
	{ "span_waits", KIND(TRACE_EXIT) | KIND(TRACE_CLOSE) },
	{ "span_id != 0", KIND(TRACE_EXIT) | KIND(TRACE_CLOSE) }, /* of any row in a span */
};

static bool sources_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns true if `word` is in the text, as a whole word or between quotes. */
static bool sources_has(const char *sql, const char *word, bool quoted)
{
	size_t sz = strlen(word);

	for (const char *at = sql; (at = strstr(at, word)) != NULL; at += sz) {
		char before = at > sql ? at[-1] : ' ', after = at[sz];

		if (quoted ? before == '\'' && after == '\''
			   : !sources_is_word(before) && before != '\'' && !sources_is_word(after))
			return true;
	}
	return false;
}

/* Replaces the list in kind NOT IN ('switch', …) by spaces, because the query reads the other
 * kinds. */
static void sources_blank_exceptions(char *sql)
{
	for (char *at = sql; (at = strcasestr(at, "NOT IN (")) != NULL;)
		while (*at && *at != ')')
			*at++ = ' ';
}

uint64_t sources__read_by(const char *sql)
{
	char *text = strdup(sql);
	uint64_t kinds = 0;

	if (!text)
		return 0;
	sources_blank_exceptions(text);
	for (int i = 0; i < EVENT_KIND_CNT; i++)
		if (sources_has(text, event_kind__name((enum event_kind)i), true))
			kinds |= 1ull << i;
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (sources_has(text, views[i].view, false))
			kinds |= views[i].kinds;
	free(text);
	return kinds;
}

bool sources__reads_lost(const char *sql)
{
	return sources_has(sql, "lost", true) || sources_has(sql, "lost_kind", false);
}

uint64_t sources__kind(const char *name, size_t sz)
{
	for (int i = 0; i < EVENT_KIND_CNT; i++) {
		const char *known = event_kind__name((enum event_kind)i);

		if (strlen(known) == sz && memcmp(known, name, sz) == 0)
			return 1ull << i;
	}
	return 0;
}

/* Returns all kinds that a source records. */
static uint64_t sources_kinds_of(const char *probe, size_t sz)
{
	uint64_t kinds = 0;
	char name[32];

	if (sz >= sizeof(name))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)sz, probe);
	for (int i = 0; i < EVENT_KIND_CNT; i++)
		if (event_kind__is_of((enum event_kind)i, name))
			kinds |= 1ull << i;
	return kinds;
}

uint64_t sources__of_list(const char *names, size_t sz)
{
	uint64_t kinds = 0;

	while (sz) {
		const char *comma = memchr(names, ',', sz);
		size_t n = comma ? (size_t)(comma - names) : sz;

		kinds |= sources_kinds_of(names, n);
		n += comma != NULL;
		names += n;
		sz -= n;
	}
	return kinds;
}

void sources__names(struct buf *out, uint64_t kinds)
{
	const char *between = "";

	for (int i = 0; i < EVENT_KIND_CNT; i++) {
		if (!(kinds >> i & 1))
			continue;
		buf__printf(out, "%s%s", between, event_kind__name((enum event_kind)i));
		between = ", ";
	}
}

/* Appends the kinds of `read` that were not recorded, and how they can be. */
static void sources_name_sources(struct buf *out, uint64_t read, uint64_t recorded,
				 const char *stacks)
{
	const char *between = "";

	for (int i = 0; i < EVENT_KIND_CNT; i++) {
		const char *probe = event_kind__probe((enum event_kind)i);
		uint64_t kinds = sources_kinds_of(probe, strlen(probe));

		if (!(read >> i & 1) || (recorded & kinds))
			continue;
		read &= ~kinds; /* each source is named once */
		buf__printf(out, "%s%s (collector -p %s%s%s)", between,
			    event_kind__name((enum event_kind)i), probe, stacks,
			    strcmp(probe, "usdt") == 0 ? ":PATH" : "");
		between = ", ";
	}
}

void sources__missing(struct buf *out, uint64_t read, uint64_t recorded)
{
	sources_name_sources(out, read, recorded, "");
}

void sources__with_stacks(struct buf *out, uint64_t read)
{
	sources_name_sources(out, read, 0, ":u");
}
