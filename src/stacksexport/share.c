// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/share.h"

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

#define QUERY_SZ_MAX (16u << 20) /* bytes; nobody writes a longer query */

static int share__path(const char *path, char *out, size_t sz)
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

/* The whole of a file (or pipe), NUL-terminated. NULL + errno. */
static char *read_all(const char *path)
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

	if (!err && !(text = read_all(full)))
		err = -errno;
	if (err)
		log__error("cannot read %s, which belongs to the program: %s",
			   err == -ENAMETOOLONG ? path : full, strerror(-err));
	return text;
}

/* "; there are: sql/pprof/a.sql …" or nothing. */
static void list_queries(char *out, size_t sz)
{
	char pattern[PATH_MAX];
	glob_t found = { 0 };
	size_t at = 0;

	out[0] = '\0';
	if (share__path("sql/pprof/*.sql", pattern, sizeof(pattern)) != 0 ||
	    glob(pattern, 0, NULL, &found) != 0)
		return;
	at = (size_t)snprintf(out, sz, "; there are:");
	for (size_t i = 0; i < found.gl_pathc && at < sz; i++)
		at += (size_t)snprintf(out + at, sz - at, "\n    %s",
				       strstr(found.gl_pathv[i], "sql/pprof/"));
	globfree(&found);
}

char *share__read_query(const char *path)
{
	static const char *const prefixes[] = { "", "sql/pprof/" };
	char full[PATH_MAX], installed[PATH_MAX], queries[1500];
	char *text = read_all(path);
	int err = errno;

	for (size_t i = 0;
	     !text && err == ENOENT && path[0] != '/' && i < sizeof(prefixes) / sizeof(*prefixes);
	     i++) {
		snprintf(installed, sizeof(installed), "%s%s", prefixes[i], path);
		if (share__path(installed, full, sizeof(full)) == 0)
			text = read_all(full);
	}
	if (text)
		return text;
	if (err == ENOENT) {
		list_queries(queries, sizeof(queries));
		log__error("there is no query file %s%s", path, queries);
	} else {
		log__error("cannot read %s: %s", path,
			   err == EILSEQ ? "it is no text" : strerror(err));
	}
	return NULL;
}
