// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/share.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"

#define QUERY_SZ_MAX (16u << 20) /* bytes; far more than any query that people write */

int share__path(const char *path, char *out, size_t sz)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n < 0)
		return -errno;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	n = snprintf(out, sz, "%s/../share/stacks/%s", exe, path);
	return n < 0 || (size_t)n >= sz ? -ENAMETOOLONG : 0;
}

/* Reads a whole file (or pipe) as a NUL-terminated string. Returns NULL and sets errno on failure.
 */
static char *share_read_all(const char *path)
{
	struct buf text = { 0 };
	FILE *f = fopen(path, "re");
	char piece[8192];
	struct stat st;
	size_t n;

	if (!f)
		return NULL;
	if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		fclose(f);
		errno = EISDIR;
		return NULL;
	}
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && text.sz <= QUERY_SZ_MAX)
		buf__append(&text, piece, n);
	if (ferror(f) && !text.err)
		text.err = -EIO;
	if (text.sz > QUERY_SZ_MAX)
		text.err = -EFBIG;
	else if (memchr(text.sz ? (void *)text.data : (void *)"", 0, text.sz))
		text.err = -EILSEQ;
	fclose(f);
	buf__u8(&text, 0);
	if (text.err) {
		errno = -buf__err(&text);
		buf__free(&text);
		return NULL;
	}
	return (char *)text.data;
}

char *share__read(const char *path)
{
	char full[PATH_MAX];
	char *text = NULL;
	int err = share__path(path, full, sizeof(full));

	if (!err && !(text = share_read_all(full)))
		err = -errno;
	if (err)
		log__error("cannot read %s, which is part of this program: %s",
			   err == -ENAMETOOLONG ? path : full, strerror(-err));
	return text;
}

/* Prints the first line of a query, which describes its result, without its dashes. */
static void share_print_query(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;

	if (f && getline(&line, &cap, f) > 0)
		fprintf(stderr, "  %-45s %s", strrchr(path, '/') + 1, line + strspn(line, "- "));
	free(line);
	if (f)
		fclose(f);
}

/* Prints the queries of a folder, one per line. */
static void share_list_queries(const char *folder)
{
	char pattern[PATH_MAX], full[PATH_MAX];
	glob_t found = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/*.sql", folder);
	if (share__path(pattern, full, sizeof(full)) != 0 || glob(full, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		share_print_query(found.gl_pathv[i]);
	globfree(&found);
}

/* Reads a file below the share folder, with or without its ending. Returns NULL if it is absent or
 * unreadable. */
static char *read_shared(const char *folder, const char *name)
{
	static const char *const endings[] = { "", ".sql" };
	char relative[PATH_MAX], full[PATH_MAX];
	char *text = NULL;

	for (size_t i = 0; !text && i < sizeof(endings) / sizeof(*endings); i++)
		if (snprintf(relative, sizeof(relative), "%s%s%s%s", folder, *folder ? "/" : "",
			     name, endings[i]) < (int)sizeof(relative) &&
		    share__path(relative, full, sizeof(full)) == 0)
			text = share_read_all(full);
	return text;
}

static const struct {
	const char *folder, *command;
} readers[] = {
	{ "sql/pprof", "pprof" },
	{ "sql/traceview", "trace" },
	{ "sql/tables", "query -f" },
};

/* Returns the command that takes this query, if it is another one; NULL if there is no query of
 * that name. */
static const char *share_reader_of(const char *name)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		char *text = read_shared(readers[i].folder, name);

		free(text);
		if (text)
			return readers[i].command;
	}
	return NULL;
}

static void share_say_missing(const char *path, const char *folder)
{
	const char *command = share_reader_of(path);

	if (command) {
		log__error("%s is a query for another command: stacksexport %s %s", path, command,
			   path);
		return;
	}
	log__error("there is no query file %s; %s has:", path, folder);
	share_list_queries(folder);
}

/*
 * Former endings of the names of queries, when there was one for a command and one for a build ID.
 * NAME_for_command and NAME_for_buildid resolve to NAME, which takes both parameters.
 */
static const struct {
	const char *former, *present;
} former_endings[] = {
	/* the two names of this query differed */
	{ "ustack_rss_growth_for_command", "rss_ustacks_growth" },
	{ "_for_command", "" },
	{ "_for_buildid", "" },
};

/* Writes the present name of `path` to out. Returns false if it has no former ending, or if its
 * present name does not fit. */
static bool share_present_name(const char *path, char *out, size_t sz)
{
	size_t stem = strlen(path);

	if (stem > 4 && strcmp(path + stem - 4, ".sql") == 0)
		stem -= 4;
	for (size_t i = 0; i < sizeof(former_endings) / sizeof(*former_endings); i++) {
		size_t end = strlen(former_endings[i].former);

		if (stem >= end && strncmp(path + stem - end, former_endings[i].former, end) == 0)
			return snprintf(out, sz, "%.*s%s.sql", (int)(stem - end), path,
					former_endings[i].present) < (int)sz;
	}
	return false;
}

/* Reads the text of a query at this path, or below the share folder. Returns NULL and sets errno on
 * failure. */
static char *share_find_query(const char *path, const char *folder)
{
	char *text = share_read_all(path);
	int err = errno;

	if (!text && err == ENOENT && path[0] != '/') {
		text = read_shared("", path);
		if (!text)
			text = read_shared(folder, path);
	}
	errno = err;
	return text;
}

char *share__read_query(const char *path, const char *folder)
{
	char *text = share_find_query(path, folder), present[PATH_MAX];
	int err = errno;

	if (!text && err == ENOENT && share_present_name(path, present, sizeof(present)))
		text = share_find_query(present, folder);
	if (text)
		return text;
	if (err == ENOENT)
		share_say_missing(path, folder);
	else
		log__error("cannot read %s: %s", path,
			   err == EILSEQ ? "not a text file" : strerror(err));
	return NULL;
}
