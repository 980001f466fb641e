// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/tablecache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strcopy.h"
#include "base/writeall.h"

#define SUFFIX	".table"
#define NAME_SZ (2 * BUILD_ID_MAX + sizeof(SUFFIX))
#define TEMP	".new"
#define TEMP_SZ (NAME_SZ + 32) /* NAME.new.PID */
/* Seconds. A file's modification time is the time of its last use, to the hour. */
#define USED_SEC 3600

struct table_cache {
	unsigned refs; /* atomic: a job that hangs while it reads may hold the last one */
	int dir_fd;
	size_t max_sz;
	pthread_mutex_t lock; /* protects the fields below */
	bool listed;	      /* the folder has been listed */
	size_t sz;	      /* bytes of the files, approximately */
};

/* ---- the folder ---------------------------------------------------------------------------------
 */

static int tablecache_make_parents(const char *dir)
{
	char path[PATH_MAX];

	if (!str__copy(path, sizeof(path), dir))
		return -ENAMETOOLONG;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* Returns 0 if we own the folder and no other user can write into it. */
static int tablecache_check_folder(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

struct table_cache *table_cache__get(struct table_cache *c)
{
	if (c)
		__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void table_cache__put(struct table_cache *c)
{
	if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void tablecache_name_of(const struct build_id *id, char name[NAME_SZ])
{
	for (size_t i = 0; i < id->sz; i++)
		snprintf(name + 2 * i, 3, "%02x", id->bytes[i]);
	str__copy(name + 2 * (size_t)id->sz, sizeof(SUFFIX), SUFFIX);
}

/* ---- files --------------------------------------------------------------------------------------
 */

static const struct cfi_table *tablecache_map(int fd, const struct build_id *id)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct cfi_table))
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (cfi_table__is_sound(at, (size_t)st.st_size, id)) {
		if (time(NULL) - st.st_mtime > USED_SEC)
			futimens(fd, NULL);
		return at;
	}
	munmap(at, (size_t)st.st_size);
	return NULL;
}

const struct cfi_table *table_cache__load(const struct table_cache *c, const struct build_id *id)
{
	const struct cfi_table *t;
	char name[NAME_SZ];
	int fd;

	if (!id->sz)
		return NULL;
	tablecache_name_of(id, name);
	fd = openat(c->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	t = tablecache_map(fd, id);
	close(fd);
	return t;
}

void table_cache__unmap(const struct cfi_table *t)
{
	munmap((void *)t, t->sz);
}

struct tablecache_entry {
	char name[TEMP_SZ];
	struct timespec used;
	off_t sz;
};

static int tablecache_longest_unused(const void *a, const void *b)
{
	const struct timespec *x = &((const struct tablecache_entry *)a)->used;
	const struct timespec *y = &((const struct tablecache_entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Lists all tables in the folder, including temporary files. Sets `*cnt`; the caller frees the
 * result. */
static struct tablecache_entry *tablecache_list(const struct table_cache *c, size_t *cnt,
						size_t *sz)
{
	int fd = openat(c->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct tablecache_entry *entries = NULL, *more;
	struct dirent *d;
	struct stat st;

	*cnt = *sz = 0;
	while (dir && (d = readdir(dir)) != NULL) {
		if (strlen(d->d_name) >= TEMP_SZ || !strstr(d->d_name, SUFFIX) ||
		    fstatat(c->dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		more = reallocarray(entries, *cnt + 1, sizeof(*entries));
		if (!more)
			break;
		entries = more;
		entries[*cnt].used = st.st_mtim;
		entries[*cnt].sz = st.st_size;
		str__copy(entries[(*cnt)++].name, TEMP_SZ, d->d_name);
		*sz += (size_t)st.st_size;
	}
	if (dir)
		closedir(dir);
	return entries;
}

static void tablecache_trim(struct table_cache *c)
{
	size_t cnt;
	struct tablecache_entry *entries = tablecache_list(c, &cnt, &c->sz);

	c->listed = true;
	if (c->sz > c->max_sz)
		qsort(entries, cnt, sizeof(*entries), tablecache_longest_unused);
	for (size_t i = 0; i < cnt && c->sz > c->max_sz; i++) {
		if (unlinkat(c->dir_fd, entries[i].name, 0) == 0)
			c->sz -= (size_t)entries[i].sz;
	}
	free(entries);
}

struct table_cache *table_cache__new(const char *dir, size_t max_sz)
{
	struct table_cache *c = calloc(1, sizeof(*c));
	int err = c ? tablecache_make_parents(dir) : -ENOMEM;

	if (!c)
		return NULL;
	c->refs = 1;
	pthread_mutex_init(&c->lock, NULL);
	c->max_sz = max_sz;
	c->dir_fd = err ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (!err)
		err = c->dir_fd < 0 ? -errno : tablecache_check_folder(c->dir_fd);
	if (!err)
		return c;
	table_cache__put(c);
	errno = -err;
	return NULL;
}

int table_cache__store(struct table_cache *c, const struct cfi_table *t)
{
	char name[NAME_SZ], temp[TEMP_SZ];
	int fd, err;

	if (!t->build_id.sz)
		return -EINVAL;
	tablecache_name_of(&t->build_id, name);
	snprintf(temp, sizeof(temp), "%s" TEMP ".%d", name, (int)getpid());
	unlinkat(c->dir_fd, temp, 0); /* left by a killed process */
	fd = openat(c->dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, t, t->sz);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(c->dir_fd, temp, c->dir_fd, name))
		err = -errno;
	if (err)
		unlinkat(c->dir_fd, temp, 0);
	pthread_mutex_lock(&c->lock);
	c->sz += err ? 0 : t->sz;
	if (!c->listed || c->sz > c->max_sz)
		tablecache_trim(c);
	pthread_mutex_unlock(&c->lock);
	return err;
}
