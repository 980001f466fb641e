// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/log.h"
#include "store/path.h"

static const char *const prefixes[FOLDER_FILE_CNT] = {
	[FOLDER_STACKTRACES] = "stacktraces-",
	[FOLDER_PROCESSES] = "processes-",
	[FOLDER_EVENTS] = "events-",
};
#define SUFFIX	   ".parquet"
#define TMP_SUFFIX ".parquet.tmp"

void folder__name(char name[FOLDER_NAME_MAX], enum folder_file file, uint32_t batch)
{
	snprintf(name, FOLDER_NAME_MAX, "%s%06u" SUFFIX, prefixes[file], batch);
}

static void folder_tmp_name(char name[FOLDER_NAME_MAX], enum folder_file file, uint32_t batch)
{
	snprintf(name, FOLDER_NAME_MAX, "%s%06u" TMP_SUFFIX, prefixes[file], batch);
}

/* ---- contents of the folder ------------------------------------------------------------------ */

/* Returns the number in prefix + digits + suffix, or 0. */
static uint32_t folder_number(const char *name, const char *prefix, const char *suffix)
{
	size_t len = strlen(prefix);
	unsigned long n;
	char *end;

	if (strncmp(name, prefix, len) != 0 || !isdigit((unsigned char)name[len]))
		return 0;
	errno = 0;
	n = strtoul(name + len, &end, 10);
	return errno || n >= UINT32_MAX || strcmp(end, suffix) != 0 ? 0 : (uint32_t)n;
}

/* Calls fn for each name in the folder. Returns 0 or -errno. */
static int folder_each_name(int fd, void (*fn)(const char *name, void *arg), void *arg)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	int err;

	if (!dir) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	while ((errno = 0, entry = readdir(dir)) != NULL)
		fn(entry->d_name, arg);
	err = -errno;
	closedir(dir);
	return err;
}

struct each_batch {
	void (*fn)(uint32_t batch, void *arg);
	void *arg;
};

static void folder_pass_batch(const char *name, void *arg)
{
	const struct each_batch *each = arg;
	uint32_t n = folder_number(name, prefixes[FOLDER_EVENTS], SUFFIX);

	if (n)
		each->fn(n, each->arg);
}

int folder__each_batch(const struct folder *f, void (*fn)(uint32_t batch, void *arg), void *arg)
{
	struct each_batch each = { fn, arg };

	return folder_each_name(f->fd, folder_pass_batch, &each);
}

struct finished {
	uint32_t highest;
	bool events;
};

static void folder_count(const char *name, void *arg)
{
	struct finished *f = arg;

	for (int file = 0; file < FOLDER_FILE_CNT; file++) {
		uint32_t n = folder_number(name, prefixes[file], SUFFIX);

		f->events |= n && file == FOLDER_EVENTS;
		if (n > f->highest)
			f->highest = n;
	}
}

static void folder_remove_leftover(const char *name, void *arg)
{
	const struct folder *f = arg;

	for (int file = 0; file < FOLDER_FILE_CNT; file++)
		if (folder_number(name, prefixes[file], TMP_SUFFIX) &&
		    unlinkat(f->fd, name, 0) == 0)
			log__info("%s/%s: removed this incomplete file of an earlier recording",
				  f->path, name);
}

static void count_folder(const char *name, void *arg)
{
	uint32_t n = folder_number(name, "", ""), *highest = arg;

	if (n > *highest)
		*highest = n;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int folder_fail(const char *path, const char *what, int err)
{
	if (err == -ELOOP)
		what = "a symbolic link in the path belongs to another user or is dangling";
	log__error("%s: %s: %s", path, what, strerror(-err));
	return err;
}

static int folder_foreign(const char *path, const struct stat *st)
{
	log__error("%s: user %u owns it and could replace the recording; choose another folder, or "
		   "use --force",
		   path, (unsigned)st->st_uid);
	return -EPERM;
}

static int folder_shared(const char *path, const struct stat *st)
{
	log__error("%s: other users may write there (mode %04o) and could replace the recording; "
		   "run chmod go-w on it, choose another folder, or use --force",
		   path, (unsigned)st->st_mode & 07777);
	return -EPERM;
}

/* Checks an existing folder. An ACL shows in the mode: its mask is the group's part. */
static int folder_check(const struct folder_options *o, const char *path, int fd)
{
	struct stat st;

	if (o->force)
		return 0;
	if (fstat(fd, &st) != 0)
		return folder_fail(path, "cannot read who owns the folder", -errno);
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != o->owner.uid)
		return folder_foreign(path, &st);
	return st.st_mode & (S_IWGRP | S_IWOTH) ? folder_shared(path, &st) : 0;
}

/* Creates the next number under root. */
static int folder_open_next(struct folder *f, const struct folder_options *o)
{
	const char *root = o->root;
	char name[16];
	uint32_t n = 0;
	int err;

	f->parent = path__open_parent(root, &f->owner);
	if (f->parent < 0)
		return folder_fail(root, "cannot make or open the folder of recordings", f->parent);
	err = folder_check(o, root, f->parent);
	if (err)
		return err;
	err = folder_each_name(f->parent, count_folder, &n);
	do {
		snprintf(name, sizeof(name), "%u", ++n);
		f->fd = err ? err : path__make(f->parent, name, &f->owner);
	} while (f->fd == -EEXIST); /* another recording created it first */
	if (f->fd < 0)
		return folder_fail(root, "cannot make a folder for the recording in it", f->fd);
	return asprintf(&f->path, "%s/%s", root, name) < 0 ? (f->path = NULL, -ENOMEM) : 0;
}

static int folder_open_given(struct folder *f, const struct folder_options *o)
{
	f->fd = path__open(o->dir, &f->owner);
	if (f->fd < 0)
		return folder_fail(o->dir, "cannot make or open the recording's folder", f->fd);
	f->path = strdup(o->dir);
	return f->path ? folder_check(o, o->dir, f->fd) : -ENOMEM;
}

int folder__open(struct folder *f, const struct folder_options *o)
{
	struct finished found = { 0 };
	int err;

	*f = (struct folder){ .fd = -1, .parent = -1, .owner = o->owner };
	err = o->dir ? folder_open_given(f, o) : folder_open_next(f, o);
	if (err)
		return err;
	/* Some network file systems have no locks; then nothing prevents two writers. */
	if (flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		log__error("%s: another collector is writing a recording there", f->path);
		return -EBUSY;
	}
	err = folder_each_name(f->fd, folder_count, &found);
	if (err)
		return folder_fail(f->path, "cannot read the folder", err);
	if (found.events && !o->append) {
		log__error("%s: has a recording already; --append continues it", f->path);
		return -EEXIST;
	}
	f->next = found.highest + 1;
	return folder_each_name(f->fd, folder_remove_leftover, f);
}

bool folder__remove_empty(struct folder *f)
{
	const char *slash = f->path ? strrchr(f->path, '/') : NULL;

	if (!f->removed && f->parent >= 0 && slash)
		f->removed = unlinkat(f->parent, slash + 1, AT_REMOVEDIR) == 0;
	return f->removed;
}

/* Makes the owner the owner of all files that this thread creates. Returns false if that is not
 * allowed. */
static bool folder_act_as(const struct path_owner *owner)
{
	syscall(SYS_setfsgid, owner->gid);
	syscall(SYS_setfsuid, owner->uid);
	/* The only way to detect success: an invalid id changes nothing. */
	return (uid_t)syscall(SYS_setfsuid, -1) == owner->uid &&
	       (gid_t)syscall(SYS_setfsgid, -1) == owner->gid;
}

void folder__limit_writer(const struct folder *f)
{
	uint64_t give_away =
		CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_DAC_OVERRIDE);
	struct stat st;
	bool own = fstat(f->fd, &st) == 0 && st.st_uid == f->owner.uid &&
		   (st.st_mode & S_IRWXU) == S_IRWXU;

	if (own && f->owner.uid != geteuid())
		own = folder_act_as(&f->owner);
	capabilities__keep(own ? 0 : give_away);
}

void folder__close(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->parent >= 0)
		close(f->parent);
	free(f->path);
	*f = (struct folder){ .fd = -1, .parent = -1 };
}

/* ---- files ---------------------------------------------------------------------------------- */

int folder__create(const struct folder *f, enum folder_file file, uint32_t batch)
{
	char name[FOLDER_NAME_MAX];
	int fd, err;

	folder_tmp_name(name, file, batch);
	if (unlinkat(f->fd, name, 0) != 0 && errno != ENOENT)
		return -errno;
	fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = path__own(fd, 0640, &f->owner);
	if (!err)
		return fd;
	close(fd);
	folder__discard(f, file, batch);
	return err;
}

int folder__publish(const struct folder *f, enum folder_file file, uint32_t batch)
{
	char from[FOLDER_NAME_MAX], to[FOLDER_NAME_MAX];

	folder_tmp_name(from, file, batch);
	folder__name(to, file, batch);
	return renameat(f->fd, from, f->fd, to) != 0 ? -errno : 0;
}

void folder__discard(const struct folder *f, enum folder_file file, uint32_t batch)
{
	char name[FOLDER_NAME_MAX];

	folder_tmp_name(name, file, batch);
	unlinkat(f->fd, name, 0);
}
