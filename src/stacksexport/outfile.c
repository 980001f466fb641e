// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/writeall.h"
#include "base/utf8.h"
#include "stacksexport/progress.h"

static int outfile_cannot_write(const char *path, int err)
{
	log__error("cannot write %s: %s", path, strerror(-err));
	return err;
}

int outfile__make_dirs(const char *dir)
{
	char *path = strdup(dir);
	int err = path ? 0 : -ENOMEM;

	for (char *slash = path; slash && !err; slash = strchr(slash + 1, '/')) {
		if (slash == path)
			continue;
		*slash = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			err = -errno;
		*slash = '/';
	}
	if (!err && mkdir(path, 0777) != 0 && errno != EEXIST)
		err = -errno;
	free(path);
	return err ? outfile_cannot_write(dir, err) : 0;
}

/* A new empty file DIR/.NAME.XXXXXX, beside where it will go so that it can be renamed. */
static int outfile_make_tmp(struct outfile *o, const char *dir, const char *name)
{
	int fd;

	if (asprintf(&o->tmp, "%s/.%s.XXXXXX", dir, name) < 0) {
		o->tmp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->tmp, O_CLOEXEC);
	if (fd < 0) {
		int err = outfile_cannot_write(dir, -errno);

		free(o->tmp);
		o->tmp = NULL;
		return err;
	}
	close(fd);
	return 0;
}

/* NULL when out of memory. */
static char *outfile_default_dir(void)
{
	const char *home = getenv("HOME");
	struct passwd *user = home && *home ? NULL : getpwuid(getuid());
	char *dir;

	if (user)
		home = user->pw_dir;
	return asprintf(&dir, "%s/stacks_export_data", home && *home ? home : ".") < 0 ? NULL : dir;
}

static int outfile_open_numbered(struct outfile *o, const struct outfile_series *series)
{
	int err;

	o->prefix = series->prefix;
	o->suffix = series->suffix;
	o->dir = series->dir ? strdup(series->dir) : outfile_default_dir();
	if (!o->dir)
		return -ENOMEM;
	err = outfile__make_dirs(o->dir);
	return err ? err : outfile_make_tmp(o, o->dir, series->prefix);
}

static int outfile_open_stdout(struct outfile *o)
{
	const char *tmp = getenv("TMPDIR");

	return outfile_make_tmp(o, tmp && *tmp ? tmp : "/tmp", "stacksexport");
}

static int outfile_open_named(struct outfile *o, const char *output)
{
	const char *slash = strrchr(output, '/');
	char *dir;
	int err;

	o->path = strdup(output);
	dir = slash ? strndup(output, slash == output ? 1 : (size_t)(slash - output)) : strdup(".");
	if (!o->path || !dir)
		err = -ENOMEM;
	else
		err = outfile_make_tmp(o, dir, slash ? slash + 1 : output);
	free(dir);
	return err;
}

/* A device or a pipe is written to, not replaced. */
static bool outfile_is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int outfile__open(struct outfile *o, const char *output, const struct outfile_series *series)
{
	struct stat st;
	int err;

	*o = (struct outfile){ 0 };
	if (!output)
		return outfile_open_numbered(o, series);
	if (stat(output, &st) == 0 && S_ISDIR(st.st_mode))
		return outfile_cannot_write(output, -EISDIR);
	if (strcmp(output, "-") != 0 && !outfile_is_special(output))
		return outfile_open_named(o, output);
	err = outfile_open_stdout(o);
	if (!err && strcmp(output, "-") != 0 && !(o->path = strdup(output)))
		err = -ENOMEM;
	return err;
}

/* For a terminal, which would obey control characters in names; files and pipes get every byte. */
static int outfile_show_on(const char *from, int terminal)
{
	FILE *in = fopen(from, "re");
	struct buf shown = { 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int err = in ? 0 : -errno;

	while (!err && (n = getline(&line, &cap, in)) > 0) {
		buf__reset(&shown);
		utf8__sanitize_lines(&shown, line, (size_t)n);
		err = buf__err(&shown);
		if (!err)
			err = write_all(terminal, (const char *)shown.data, shown.sz);
	}
	if (!err && !feof(in))
		err = -errno;
	if (in)
		fclose(in);
	buf__free(&shown);
	free(line);
	return err;
}

static int outfile_copy_to(const char *from, int out)
{
	char piece[1 << 16];
	int in = open(from, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n;

	if (in < 0)
		return -errno;
	while (!err && (n = read(in, piece, sizeof(piece))) > 0)
		err = write_all(out, piece, (size_t)n);
	if (!err && n < 0)
		err = -errno;
	close(in);
	return err;
}

/* Copies to stdout, or to the device or pipe at o->path. */
static int outfile_commit_copy(struct outfile *o)
{
	int out = o->path ? open(o->path, O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;
	int err;

	if (out < 0)
		err = -errno;
	else
		err = isatty(out) ? outfile_show_on(o->tmp, out) : outfile_copy_to(o->tmp, out);
	if (o->path && out >= 0)
		close(out);
	return err ? outfile_cannot_write(o->path ? o->path : "the standard output", err) : 0;
}

/* The number in PREFIX-N.SUFFIX, or 0. */
static uint64_t outfile_number_of(const struct outfile *o, const char *name)
{
	size_t prefix = strlen(o->prefix);
	uint64_t n = 0;
	int end = 0;

	if (strncmp(name, o->prefix, prefix) != 0 ||
	    sscanf(name + prefix, "-%" SCNu64 ".%n", &n, &end) != 1 || end == 0)
		return 0;
	return strcmp(name + prefix + end, o->suffix) == 0 ? n : 0;
}

static uint64_t outfile_highest(const struct outfile *o)
{
	uint64_t max = 0;
	DIR *d = opendir(o->dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		uint64_t n = outfile_number_of(o, e->d_name);

		max = n > max ? n : max;
	}
	if (d)
		closedir(d);
	return max;
}

/* Never takes the name of another file: two exports at once get two numbers. */
static int outfile_commit_numbered(struct outfile *o)
{
	for (uint64_t n = outfile_highest(o) + 1;; n++) {
		free(o->path);
		if (asprintf(&o->path, "%s/%s-%" PRIu64 ".%s", o->dir, o->prefix, n, o->suffix) <
		    0) {
			o->path = NULL;
			return -ENOMEM;
		}
		if (link(o->tmp, o->path) == 0)
			return unlink(o->tmp) == 0 ? 0 : -errno;
		if (errno == EPERM || errno == EOPNOTSUPP) /* no links on this file system */
			return rename(o->tmp, o->path) == 0 ? 0
							    : outfile_cannot_write(o->path, -errno);
		if (errno != EEXIST)
			return outfile_cannot_write(o->path, -errno);
	}
}

static int outfile_commit_named(struct outfile *o)
{
	return rename(o->tmp, o->path) == 0 ? 0 : outfile_cannot_write(o->path, -errno);
}

/* As a file made by open() would have, or as the one that is replaced has. */
static mode_t outfile_final_mode(const struct outfile *o)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return o->path && stat(o->path, &st) == 0 ? st.st_mode & 0777 : 0666 & ~mask;
}

int outfile__commit(struct outfile *o)
{
	int err;

	progress__end();
	if (!o->dir && (!o->path || outfile_is_special(o->path)))
		return outfile_commit_copy(o); /* outfile__free() removes what was copied */
	if (chmod(o->tmp, outfile_final_mode(o)) != 0)
		return outfile_cannot_write(o->tmp, -errno);
	err = o->dir ? outfile_commit_numbered(o) : outfile_commit_named(o);
	if (!err) {
		free(o->tmp);
		o->tmp = NULL;
	}
	return err;
}

void outfile__free(struct outfile *o)
{
	if (o->tmp)
		unlink(o->tmp);
	free(o->tmp);
	free(o->path);
	free(o->dir);
	*o = (struct outfile){ 0 };
}

int outfile__write(const char *path, const struct outfile_piece *pieces, size_t cnt)
{
	struct outfile out = { 0 };
	int err = outfile__open(&out, path, NULL);
	FILE *f = err ? NULL : fopen(out.tmp, "we");

	for (size_t i = 0; f && i < cnt; i++)
		fwrite(pieces[i].data, 1, pieces[i].sz, f);
	if (!err && (!f || ferror(f) || fflush(f) != 0)) {
		err = errno ? -errno : -EIO;
		log__error("cannot write %s: %s", path, strerror(-err));
	}
	if (f)
		fclose(f);
	if (!err)
		err = outfile__commit(&out);
	outfile__free(&out);
	return err;
}
