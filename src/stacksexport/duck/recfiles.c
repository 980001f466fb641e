// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/recfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "stacksexport/duck/batchnames.h"
#include "stacksexport/duck/fleetfiles.h"
#include "stacksexport/duck/parquetfile.h"

#define DEFAULT_ROOT "/var/lib/stacks"

static const char how_to_record[] = "record one with: sudo collector --duration 10s";

static void pair__free(struct recfile_pair *p)
{
	free(p->events);
	free(p->stacktraces);
	free(p->processes);
}

/* Returns the path by which pairs are sorted. */
static const char *pair__key(const struct recfile_pair *p)
{
	const char *paths[RECFILES_OF_PAIR];

	return recfile_pair__paths(p, paths) ? paths[0] : "";
}

/* Appends a pair and takes ownership of its strings. */
static int recfiles_append(struct recfiles *r, struct recfile_pair p)
{
	struct recfile_pair *pairs = reallocarray(r->pairs, r->cnt + 1, sizeof(*pairs));

	if (!pairs) {
		pair__free(&p);
		return -ENOMEM;
	}
	r->pairs = pairs;
	r->pairs[r->cnt++] = p;
	return 0;
}

static int recfiles_by_key(const void *a, const void *b)
{
	return strcmp(pair__key(a), pair__key(b));
}

static bool recfiles_is_path(const char *path, const char *other, size_t other_sz)
{
	return path && strlen(path) == other_sz && memcmp(path, other, other_sz) == 0;
}

/* Sorts the pairs and drops doubles: a glob may match several files of a pair, or a folder and its
 * contents. */
static void recfiles_sort_unique(struct recfiles *r)
{
	size_t kept = 0;

	if (r->cnt)
		qsort(r->pairs, r->cnt, sizeof(*r->pairs), recfiles_by_key);
	for (size_t i = 0; i < r->cnt; i++) {
		if (kept && recfiles_by_key(&r->pairs[i], &r->pairs[kept - 1]) == 0)
			pair__free(&r->pairs[i]);
		else
			r->pairs[kept++] = r->pairs[i];
	}
	r->cnt = kept;
}

static int recfiles_missing_pair(const char *have, const char *missing)
{
	log__error(
		"%s is missing, so %s cannot be read and is left out: a batch is a pair of files",
		missing, batch_name__of(have));
	return -ENOENT;
}

static bool recfiles_is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static int recfiles_take_part(struct recfile_pair part, void *arg)
{
	struct recfiles *r = arg;

	r->has_parts = true;
	return recfiles_append(r, part);
}

/* Adds the parts below a path of a fleet folder; none is no error. */
static int recfiles_add_parts(struct recfiles *r, const char *path)
{
	return fleet_files__each(path, recfiles_take_part, r);
}

/* Adds the pair that `path` is one file of. */
static int recfiles_add_file(struct recfiles *r, const char *path)
{
	struct recfile_pair p;
	int err;

	if (fleet_files__is_part(path))
		return recfiles_add_parts(r, path);
	if (!batch_name__prefix(path)) {
		log__error("%s is not a file of a recording; these are called " BATCH_EVENTS
			   "N" BATCH_SUFFIX " and " BATCH_STACKTRACES "N" BATCH_SUFFIX,
			   path);
		return -EINVAL;
	}
	p.events = batch_name__sibling(path, BATCH_EVENTS);
	p.stacktraces = batch_name__sibling(path, BATCH_STACKTRACES);
	p.processes = batch_name__sibling(path, BATCH_PROCESSES);
	if (!p.events || !p.stacktraces || !p.processes) {
		pair__free(&p);
		return -ENOMEM;
	}
	if (!recfiles_is_there(p.processes)) {
		free(p.processes);
		p.processes = NULL;
	}
	if (recfiles_is_there(p.events) && recfiles_is_there(p.stacktraces))
		return recfiles_append(r, p);
	err = recfiles_missing_pair(path, recfiles_is_there(p.events) ? p.stacktraces : p.events);
	pair__free(&p);
	return err;
}

static int recfiles_events_only(const struct dirent *d)
{
	const char *prefix = batch_name__prefix(d->d_name);

	return prefix && strcmp(prefix, BATCH_EVENTS) == 0;
}

static int recfiles_numbers_only(const struct dirent *d)
{
	uint64_t n;

	return parse__u64(d->d_name, &n) == 0;
}

/* Compares by number, then by name. */
static int recfiles_by_number(const struct dirent **a, const struct dirent **b)
{
	uint64_t x = strtoull((*a)->d_name, NULL, 10), y = strtoull((*b)->d_name, NULL, 10);

	return x != y ? (x > y) - (x < y) : strcmp((*a)->d_name, (*b)->d_name);
}

static void recfiles_free_names(struct dirent **names, int cnt)
{
	for (int i = 0; i < cnt; i++)
		free(names[i]);
	free(names);
}

/* Adds the batches of a recording's folder, or the parts of a fleet folder; none is no error. */
static int recfiles_add_batches(struct recfiles *r, const char *dir)
{
	struct dirent **names;
	char path[PATH_MAX];
	int cnt = scandir(dir, &names, recfiles_events_only, alphasort), err = 0;

	if (cnt < 0)
		return parquet_file__unreadable(dir, -errno);
	for (int i = 0; i < cnt && !err; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name) >=
		    (int)sizeof(path))
			err = -ENAMETOOLONG;
		else if ((err = recfiles_add_file(r, path)) == -ENOENT && cnt > 1)
			err = 0; /* the others can be read without this one */
	}
	recfiles_free_names(names, cnt);
	return err || cnt ? err : recfiles_add_parts(r, dir);
}

/* Returns true if the folder has a batch. */
static bool recfiles_has_batch(const char *dir)
{
	struct dirent **names;
	int cnt = scandir(dir, &names, recfiles_events_only, NULL);

	if (cnt >= 0)
		recfiles_free_names(names, cnt);
	return cnt > 0;
}

/* Returns the recording with the highest number in `root`, of all recordings or of those with a
 * batch. Returns NULL if there is none, or sets *err. The caller frees the result. */
static char *recfiles_newest(const char *root, bool with_batch, int *err)
{
	struct dirent **names;
	int cnt = scandir(root, &names, recfiles_numbers_only, recfiles_by_number);
	char *path = NULL;

	*err = cnt < 0 ? -errno : 0;
	for (int i = cnt; i-- > 0 && !path && !*err;) {
		if (asprintf(&path, "%s/%s", root, names[i]->d_name) < 0) {
			path = NULL;
			*err = -ENOMEM;
		} else if (with_batch && !recfiles_has_batch(path)) {
			free(path);
			path = NULL;
		}
	}
	if (cnt >= 0)
		recfiles_free_names(names, cnt);
	return path;
}

static int recfiles_add_label(struct recfiles *r, const char *path)
{
	char *before = r->label;
	int n = asprintf(&r->label, "%s%s%s", before ? before : "", before ? ", " : "", path);

	free(before);
	if (n < 0)
		r->label = NULL;
	return n < 0 ? -ENOMEM : 0;
}

/* A collector holds a lock while it writes in the folder. */
bool recfiles__is_written(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool written = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return written;
}

/* Logs that `path` has no batch. `other` is a recording that has one; NULL: there is none. */
static int recfiles_no_batch(const char *path, const char *other)
{
	log__error("%s has no batch: %s%s%s", path,
		   recfiles__is_written(path)
			   ? "none is complete yet; the first one is complete after at "
			     "most ten seconds"
			   : "nothing was recorded there yet, or nothing happened",
		   other ? "; the newest that has one is " : "", other ? other : "");
	return -ENODATA;
}

static int recfiles_newest_is_empty(const char *dir, const char *path)
{
	int err;
	char *other = recfiles_newest(dir, true, &err);

	err = recfiles_no_batch(path, other);
	free(other);
	return err;
}

/* Adds the newest of a folder of recordings. Without one, adds nothing. */
static int recfiles_add_newest(struct recfiles *r, const char *dir)
{
	size_t before = r->cnt;
	int err;
	char *path = recfiles_newest(dir, false, &err);

	if (path)
		err = recfiles_add_batches(r, path);
	if (path && !err)
		err = r->cnt == before ? recfiles_newest_is_empty(dir, path)
				       : recfiles_add_label(r, path);
	free(path);
	return err;
}

/* Adds a recording, or the newest of a folder of recordings. */
static int recfiles_add_dir(struct recfiles *r, const char *dir)
{
	size_t before = r->cnt;
	int err = recfiles_add_batches(r, dir);

	if (err || r->cnt > before)
		return err ? err : recfiles_add_label(r, dir);
	return recfiles__is_written(dir) ? recfiles_no_batch(dir, NULL)
					 : recfiles_add_newest(r, dir);
}

/* Adds an existing file or folder; a folder without a recording adds nothing. */
static int recfiles_add_path(struct recfiles *r, const char *path)
{
	char *plain = strdup(path);
	size_t sz = plain ? strlen(plain) : 0;
	struct stat st;
	int err;

	while (sz > 1 && plain[sz - 1] == '/')
		plain[--sz] = '\0';
	if (!plain)
		err = -ENOMEM;
	else if (stat(plain, &st) != 0)
		err = parquet_file__unreadable(plain, -errno);
	else if (S_ISDIR(st.st_mode))
		err = recfiles_add_dir(r, plain);
	else if ((err = recfiles_add_file(r, plain)) == 0)
		err = recfiles_add_label(r, plain);
	free(plain);
	return err;
}

/* Adds the batches of a folder, or of the newest recording in it that has some. */
static int recfiles_add_folder_there(struct recfiles *r, const char *dir)
{
	size_t before = r->cnt;
	int err = recfiles_add_batches(r, dir);
	char *path = err || r->cnt > before ? NULL : recfiles_newest(dir, true, &err);

	if (path)
		err = recfiles_add_batches(r, path);
	free(path);
	return err;
}

/* Adds what a glob matches. Other files, and incomplete batches, do not prevent the rest from being
 * read. */
static int recfiles_add_match(struct recfiles *r, const char *path)
{
	struct stat st;
	int err = 0;

	if (stat(path, &st) != 0)
		return parquet_file__unreadable(path, -errno);
	if (S_ISDIR(st.st_mode))
		err = recfiles_add_folder_there(r, path);
	else if (batch_name__prefix(path) || fleet_files__is_part(path))
		err = recfiles_add_file(r, path);
	return err == -ENOENT ? 0 : err;
}

static int recfiles_add_glob(struct recfiles *r, const char *pattern)
{
	glob_t found = { 0 };
	int err = glob(pattern, 0, NULL, &found) == GLOB_NOSPACE ? -ENOMEM : 0;

	for (size_t i = 0; i < found.gl_pathc && !err; i++)
		err = recfiles_add_match(r, found.gl_pathv[i]);
	globfree(&found);
	return err ? err : recfiles_add_label(r, pattern);
}

const char *recfiles__root(void)
{
	const char *root = getenv("STACKS_DIR");

	return root && *root ? root : DEFAULT_ROOT;
}

static int recfiles_add_default(struct recfiles *r)
{
	const char *root = recfiles__root();
	int err;

	err = access(root, F_OK) == 0 ? recfiles_add_dir(r, root) : 0;
	if (err || r->cnt)
		return err;
	log__error("there is no recording in %s; %s, or name one with -r", root, how_to_record);
	return -ENOENT;
}

static int recfiles_add_arg(struct recfiles *r, const char *arg)
{
	bool there = access(arg, F_OK) == 0 || errno == EACCES;
	size_t before = r->cnt;
	int err = there ? recfiles_add_path(r, arg) : recfiles_add_glob(r, arg);

	if (err || r->cnt > before)
		return err;
	if (there)
		log__error("%s has no batch (" BATCH_EVENTS "N" BATCH_SUFFIX
			   ") and no numbered folder: nothing was recorded there yet, or nothing "
			   "happened; %s",
			   arg, how_to_record);
	else
		log__error("there is no recording %s", arg);
	return -ENOENT;
}

void recfiles__leave_out(struct recfiles *r, const char *path, size_t path_sz, const char *why,
			 size_t why_sz)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->cnt; i++) {
		struct recfile_pair *p = &r->pairs[i];

		if (!recfiles_is_path(p->events, path, path_sz) &&
		    !recfiles_is_path(p->stacktraces, path, path_sz) &&
		    !recfiles_is_path(p->processes, path, path_sz)) {
			r->pairs[kept++] = *p;
			continue;
		}
		log__warn("left out%s: %.*s: %.*s",
			  p->events && p->stacktraces ? ", with the other files of its batch" : "",
			  (int)path_sz, path, (int)why_sz, why);
		pair__free(p);
		r->left_out++;
	}
	r->cnt = kept;
}

int recfiles__check_left(const struct recfiles *r)
{
	bool events = false, stacks = false;

	for (size_t i = 0; i < r->cnt; i++) {
		events |= r->pairs[i].events != NULL;
		stacks |= r->pairs[i].stacktraces != NULL;
	}
	if (events && stacks)
		return 0;
	log__error("cannot read %s: it has no batch of two valid files", r->label);
	return -EBADMSG;
}

/* Leaves out incomplete pairs. */
static int recfiles_check_pairs(struct recfiles *r)
{
	for (size_t i = r->cnt; i-- > 0;) {
		const char *paths[RECFILES_OF_PAIR], *problem;
		size_t cnt = recfile_pair__paths(&r->pairs[i], paths), n = 0;
		int err = 0;

		while (n < cnt && !(err = parquet_file__check(paths[n], &problem)))
			n++;
		if (err && err != -EBADMSG)
			return err;
		if (err)
			recfiles__leave_out(r, paths[n], strlen(paths[n]), problem,
					    strlen(problem));
	}
	return recfiles__check_left(r);
}

int recfiles__find(struct recfiles *r, const char *const *args, size_t cnt)
{
	int err = 0;

	*r = (struct recfiles){ 0 };
	for (size_t i = 0; i < cnt && !err; i++)
		err = recfiles_add_arg(r, args[i]);
	if (!cnt)
		err = recfiles_add_default(r);
	recfiles_sort_unique(r);
	if (!err)
		err = recfiles_check_pairs(r);
	if (err == -ENOMEM)
		log__error("out of memory");
	if (err)
		recfiles__free(r);
	return err;
}

struct recfiles recfiles__part(const struct recfiles *all, size_t from, off_t sz)
{
	struct recfiles part = { .pairs = all->pairs + from, .label = all->label };
	struct stat st;

	while (from + part.cnt < all->cnt && sz > 0) {
		sz -= stat(part.pairs[part.cnt].events, &st) == 0 ? st.st_size : sz;
		part.cnt++;
	}
	return part;
}

void recfiles__free(struct recfiles *r)
{
	for (size_t i = 0; i < r->cnt; i++)
		pair__free(&r->pairs[i]);
	free(r->pairs);
	free(r->label);
	*r = (struct recfiles){ 0 };
}
