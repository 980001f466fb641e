// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/definitions.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"

#define NAME_SZ 64 /* with the NUL; longer words are names of something else */

struct definition {
	char name[NAME_SZ]; /* in lower case */
	char *statement;
	bool is_made; /* also while it is being made */
	UT_hash_handle hh;
};

struct definitions {
	struct definition *all;
};

struct definitions *definitions__new(void)
{
	return calloc(1, sizeof(struct definitions));
}

void definitions__free(struct definitions *d)
{
	struct definition *one, *next;

	if (!d)
		return;
	HASH_ITER (hh, d->all, one, next) {
		HASH_DEL(d->all, one);
		free(one->statement);
		free(one);
	}
	free(d);
}

static bool definitions_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns true if the word from `at` to `end` is part of a path or of a longer literal, or if it is
 * a literal on the right side of a comparison: kind = 'rss'. Reads back to `begin` at most. */
static bool word__is_value(const char *begin, const char *at, const char *end)
{
	const char *before = at;

	if (before > begin && before[-1] == '/')
		return true;
	if (before == begin || *--before != '\'')
		return false;
	while (before > begin && before[-1] == ' ')
		before--;
	return *end != '\'' || (before > begin && before[-1] == '=');
}

/* Copies the next word of a text in lower case; an empty one if the word is no name, because it is
 * a value or too long. Returns the text after the word, or NULL if there is no word. */
static const char *word__next(const char *text, char word[NAME_SZ])
{
	const char *at = text;
	size_t sz = 0;

	while (*at && !definitions_is_word(*at))
		at++;
	if (!*at)
		return NULL;
	for (; definitions_is_word(at[sz]); sz++)
		if (sz < NAME_SZ)
			word[sz] = (char)tolower((unsigned char)at[sz]);
	word[sz < NAME_SZ && !word__is_value(text, at, at + sz) ? sz : 0] = '\0';
	return at + sz;
}

/* Skips the next word if it is the expected one. Returns whether it is. */
static bool word__skip(const char **text, const char *expected)
{
	char word[NAME_SZ];
	const char *after = word__next(*text, word);

	if (!after || strcmp(word, expected) != 0)
		return false;
	*text = after;
	return true;
}

enum defines { DEFINES_NOTHING, DEFINES_ANEW, DEFINES_IF_MISSING };

static enum defines definition__read(const char *statement, char name[NAME_SZ])
{
	bool if_missing;

	if (!word__skip(&statement, "create"))
		return DEFINES_NOTHING;
	if (word__skip(&statement, "or") && !word__skip(&statement, "replace"))
		return DEFINES_NOTHING;
	if (!word__skip(&statement, "view") && !word__skip(&statement, "macro"))
		return DEFINES_NOTHING;
	if_missing = word__skip(&statement, "if") && word__skip(&statement, "not") &&
		     word__skip(&statement, "exists");
	statement = word__next(statement, name);
	if (!statement || !*name || *statement == '.')
		return DEFINES_NOTHING;
	return if_missing ? DEFINES_IF_MISSING : DEFINES_ANEW;
}

static struct definition *definitions__find(const struct definitions *d, const char *name)
{
	struct definition *one;

	HASH_FIND_STR(d->all, name, one);
	return one;
}

static struct definition *definitions__add(struct definitions *d, const char *name)
{
	struct definition *one = calloc(1, sizeof(*one));

	if (!one)
		return NULL;
	memcpy(one->name, name, strlen(name) + 1);
	HASH_ADD_STR(d->all, name, one);
	if (HASH_ADDED(one))
		return one;
	free(one);
	return NULL;
}

int definitions__keep(struct definitions *d, const char *statement)
{
	char name[NAME_SZ], *copy;
	enum defines defines = definition__read(statement, name);
	struct definition *one;

	if (defines == DEFINES_NOTHING)
		return 0;
	one = definitions__find(d, name);
	if (one && defines == DEFINES_IF_MISSING)
		return 1;
	copy = strdup(statement);
	if (copy && !one)
		one = definitions__add(d, name);
	if (!copy || !one) {
		free(copy);
		return -ENOMEM;
	}
	free(one->statement);
	one->statement = copy;
	one->is_made = false;
	return 1;
}

/* Makes a definition, and first those that it mentions: DuckDB binds these when it creates it. */
static int definition__make(struct definitions *d, struct definition *one, definitions_fn fn,
			    void *arg)
{
	int err;

	one->is_made = true;
	err = definitions__make(d, one->statement, fn, arg);
	if (!err)
		err = fn(one->statement, arg);
	one->is_made = !err;
	return err;
}

/* Words of statements that list what exists. */
static const char *const listings[] = { "show",		  "describe",	      "duckdb_views",
					"duckdb_columns", "duckdb_functions", "information_schema",
					"sqlite_master",  "pg_views" };

static bool definitions_is_listing(const char *word)
{
	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++)
		if (strcmp(word, listings[i]) == 0)
			return true;
	return false;
}

int definitions__make(struct definitions *d, const char *sql, definitions_fn fn, void *arg)
{
	char word[NAME_SZ];
	int err = 0;

	while (!err && (sql = word__next(sql, word))) {
		struct definition *one = definitions__find(d, word);

		if (one && !one->is_made)
			err = definition__make(d, one, fn, arg);
		else if (definitions_is_listing(word))
			err = definitions__make_all(d, fn, arg);
	}
	return err;
}

bool definitions__has_more(const struct definitions *d)
{
	const struct definition *one, *next;

	HASH_ITER (hh, d->all, one, next)
		if (!one->is_made)
			return true;
	return false;
}

int definitions__make_all(struct definitions *d, definitions_fn fn, void *arg)
{
	struct definition *one, *next;

	HASH_ITER (hh, d->all, one, next) {
		int err = one->is_made ? 0 : definition__make(d, one, fn, arg);

		if (err)
			return err;
	}
	return 0;
}
