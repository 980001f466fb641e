// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/fleetfiles.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define EVENTS "events/day="
#define PART   "part-*.parquet"

static const char *const table_names[] = { "events", "stacks", "processes" };

#define TABLE_CNT (sizeof(table_names) / sizeof(table_names[0]))

struct fleet_walk {
	int (*take)(struct recfile_pair, void *);
	void *arg;
};

bool fleet_files__is_part(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t sz;

	name = name ? name + 1 : path;
	sz = strlen(name);
	return strncmp(name, "part-", 5) == 0 && sz > 13 && strcmp(name + sz - 8, ".parquet") == 0;
}

static int fleetfiles_take_part(const struct fleet_walk *w, size_t table, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	return w->take((struct recfile_pair){ .events = table == 0 ? copy : NULL,
					      .stacktraces = table == 1 ? copy : NULL,
					      .processes = table == 2 ? copy : NULL },
		       w->arg);
}

/* Takes the files of a table that the pattern matches. */
static int fleetfiles_take_matches(const struct fleet_walk *w, size_t table, const char *pattern)
{
	glob_t found = { 0 };
	int err = glob(pattern, 0, NULL, &found) == GLOB_NOSPACE ? -ENOMEM : 0;

	for (size_t i = 0; i < found.gl_pathc && !err; i++)
		err = fleetfiles_take_part(w, table, found.gl_pathv[i]);
	globfree(&found);
	return err;
}

/* Appends a path so that a pattern matches only itself. */
static void fleetfiles_append_plain(struct buf *out, const char *s, size_t sz)
{
	for (size_t i = 0; i < sz; i++) {
		if (strchr("*?[\\", s[i]))
			buf__u8(out, '\\');
		buf__u8(out, (uint8_t)s[i]);
	}
}

/* A path that is taken literally, and the pattern of what is below it. */
struct fleet_place {
	const char *root; /* with a slash at its end, or empty */
	size_t root_sz;
	const char *below; /* "day=2026-11-26/hour=07"; literally, too */
	size_t below_sz;
	const char *pattern;
};

static int fleetfiles_take_table(const struct fleet_walk *w, size_t table,
				 const struct fleet_place *p)
{
	struct buf pattern = { 0 };
	int err;

	fleetfiles_append_plain(&pattern, p->root, p->root_sz);
	buf__printf(&pattern, "%s/", table_names[table]);
	fleetfiles_append_plain(&pattern, p->below, p->below_sz);
	buf__str(&pattern, p->pattern);
	buf__u8(&pattern, 0);
	err = buf__err(&pattern);
	if (!err)
		err = fleetfiles_take_matches(w, table, (const char *)pattern.data);
	buf__free(&pattern);
	return err;
}

static int fleetfiles_take_all(const struct fleet_walk *w, const char *root)
{
	struct fleet_place p = { .root = root, .root_sz = strlen(root), .below = "" };
	int err = 0;

	for (size_t t = 0; t < TABLE_CNT && !err; t++) {
		p.pattern = t == 0 ? "day=*/hour=*/" PART : "day=*/" PART;
		err = fleetfiles_take_table(w, t, &p);
	}
	return err;
}

/* `below` is the end of `path`: day=…, hour=… and a file, or the first of these. */
static int fleetfiles_take_some(const struct fleet_walk *w, const char *path, const char *below)
{
	const char *hour = strchr(below, '/'), *file = hour ? strchr(hour + 1, '/') : NULL;
	struct fleet_place p = { .root = path,
				 .root_sz = (size_t)(below - path) - strlen("events/"),
				 .below = below,
				 .below_sz = strlen(below),
				 .pattern = file   ? ""
					    : hour ? "/" PART
						   : "/hour=*/" PART };
	int err = fleetfiles_take_table(w, 0, &p);

	p.below_sz = hour ? (size_t)(hour - below) : p.below_sz;
	p.pattern = "/" PART;
	for (size_t t = 1; t < TABLE_CNT && !err; t++)
		err = fleetfiles_take_table(w, t, &p);
	return err;
}

int fleet_files__each(const char *path, int (*take)(struct recfile_pair, void *), void *arg)
{
	const struct fleet_walk w = { take, arg };
	const char *events = NULL;
	char *root;
	int err;

	for (const char *at = path; (at = strstr(at, EVENTS)); at++)
		if (at == path || at[-1] == '/')
			events = at;
	if (events)
		return fleetfiles_take_some(&w, path, events + strlen("events/"));
	if (asprintf(&root, "%s/", path) < 0)
		return -ENOMEM;
	err = fleetfiles_take_all(&w, root);
	free(root);
	return err;
}
