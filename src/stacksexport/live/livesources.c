// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/live/livesources.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL    "all"
#define STACKS "uk"

/* The sources of which the screen shows stacks. Neither has a parameter that looks like stacks. */
static const char *const shown[] = { "profile", "switch" };

#define SHOWN_CNT (sizeof(shown) / sizeof(shown[0]))

/* Returns the index of the item's source in `shown`, or SHOWN_CNT. */
static size_t livesources_find(const char *item)
{
	size_t i = 0, len = strcspn(item, ":");

	while (i < SHOWN_CNT && (strlen(shown[i]) != len || strncmp(shown[i], item, len) != 0))
		i++;
	return i;
}

/* Returns true if a part of the item after the name consists of letters of stacks. */
static bool livesources_has_stacks(const char *item)
{
	for (const char *part = strchr(item, ':'); part; part = strchr(part + 1, ':')) {
		size_t len = strcspn(part + 1, ":");

		if (len && strspn(part + 1, "ukn") == len)
			return true;
	}
	return false;
}

static void livesources_print(FILE *f, const char *item)
{
	size_t len = strcspn(item, ":");
	bool is_added = livesources_find(item) < SHOWN_CNT && !livesources_has_stacks(item);

	fprintf(f, "%.*s%s%s", (int)len, item, is_added ? ":" STACKS : "", item + len);
}

static void livesources_print_items(FILE *f, char *items)
{
	bool is_named[SHOWN_CNT + 1] = { false }, has_all = false;
	const char *comma = "";

	for (char *item; (item = strsep(&items, ",")); comma = ",") {
		fputs(comma, f);
		livesources_print(f, item);
		is_named[livesources_find(item)] = true;
		has_all |= strcmp(item, ALL) == 0;
	}
	for (size_t i = 0; has_all && i < SHOWN_CNT; i++) {
		if (!is_named[i])
			fprintf(f, ",%s:" STACKS, shown[i]);
	}
}

char *live_sources__with_stacks(const char *sources)
{
	char *copy = strdup(sources), *text = NULL;
	size_t sz;
	FILE *f = copy ? open_memstream(&text, &sz) : NULL;

	if (f) {
		livesources_print_items(f, copy);
		if (fclose(f) != 0) {
			free(text);
			text = NULL;
		}
	}
	free(copy);
	return text;
}
