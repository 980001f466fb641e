// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit/jitfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/handle.h"
#include "process/maps.h"

#define START_FIELD   22 /* of /proc/PID/stat, proc(5) */
#define CLOCK_SLACK_S 2	 /* difference between the clocks of files and of processes */

/* ---- the process --------------------------------------------------------------------------------
 */

/* Reads a small file of the process as text. Returns false on failure. */
static bool jitfile_read_text(const struct jit_owner *o, const char *name, char *text, size_t sz)
{
	int fd = openat(o->proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sz - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* Reads the n-th number of a line "Key:\t1 2 3", or the last one if there are fewer. */
static bool jitfile_status_number(const char *text, const char *key, unsigned n, uint32_t *v)
{
	const char *line = strstr(text, key);
	unsigned found = 0;
	char *end;

	for (line = line ? line + strlen(key) : NULL; line && found < n; line = end, found++) {
		unsigned long value = strtoul(line, &end, 10);

		if (end == line || memchr(line, '\n', (size_t)(end - line)))
			break;
		*v = (uint32_t)value;
	}
	return found > 0;
}

static bool jitfile_read_status(struct jit_owner *o)
{
	char text[4096];

	if (!jitfile_read_text(o, "status", text, sizeof(text)) ||
	    !jitfile_status_number(text, "\nUid:", 2, &o->uid)) /* real, effective */
		return false;
	o->inner_tgid = o->tgid;
	jitfile_status_number(text, "\nNSpid:", UINT_MAX,
			      &o->inner_tgid); /* the innermost one is last */
	return true;
}

/* Reads the start time of the process, in unix time: older files belong to another process. */
static bool jitfile_read_start(struct jit_owner *o)
{
	char text[4096], *at;
	struct timespec now, since_boot;
	unsigned long ticks;

	if (!jitfile_read_text(o, "stat", text, sizeof(text)) || !(at = strrchr(text, ')')))
		return false;
	for (int field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	ticks = strtoul(at, NULL, 10);
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	o->start.tv_sec = now.tv_sec - since_boot.tv_sec + (time_t)ticks / sysconf(_SC_CLK_TCK);
	return true;
}

int jit_owner__open(struct jit_owner *o, int proc, uint32_t tgid)
{
	char name[16];

	*o = (struct jit_owner){ .root = -1, .tgid = tgid };
	snprintf(name, sizeof(name), "%u", tgid);
	o->proc = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->proc >= 0)
		o->root = openat(o->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->root >= 0 && jitfile_read_status(o) && jitfile_read_start(o))
		return 0;
	jit_owner__close(o);
	return -ESRCH;
}

int jit_owner__open_recorded(struct jit_owner *o, const char *root, uint32_t tgid)
{
	*o = (struct jit_owner){ .proc = -1, .told = true, .tgid = tgid, .inner_tgid = tgid };
	o->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->root < 0 ? -errno : 0;
}

void jit_owner__close(struct jit_owner *o)
{
	if (o->proc >= 0)
		close(o->proc);
	if (o->root >= 0)
		close(o->root);
	o->proc = o->root = -1;
}

bool jit_owner__exists(int proc, uint32_t tgid)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", tgid);
	return faccessat(proc, name, F_OK, 0) == 0;
}

bool jit_owner__lives(const struct jit_owner *o)
{
	return o->told || (o->proc >= 0 && faccessat(o->proc, "stat", F_OK, 0) == 0);
}

/* ---- files of the process
 * ------------------------------------------------------------------------ */

/* A hard link to another user's file is not a file of the process. For recorded processes, the user
 * trusts the recording. */
static bool jitfile_is_believed(const struct jit_owner *o, const struct stat *st)
{
	if (o->told)
		return S_ISREG(st->st_mode);
	return S_ISREG(st->st_mode) && st->st_nlink <= 1 &&
	       (st->st_uid == o->uid || st->st_uid == 0);
}

/* Takes ownership of the handle. */
static int jitfile_open_handle(const struct jit_owner *o, int handle)
{
	struct stat st;
	int fd = -EPERM;

	if (fstat(handle, &st) == 0 && jitfile_is_believed(o, &st))
		fd = handle__reopen(handle, NULL);
	close(handle);
	return fd;
}

static int jitfile_path_handle(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int jitfile_open_below(const struct jit_owner *o, int root, const char *path)
{
	int handle = jitfile_path_handle(root, path);

	return handle < 0 ? -errno : jitfile_open_handle(o, handle);
}

static bool jitfile_is_older(const struct jit_owner *o, int fd)
{
	struct stat st;

	return fstat(fd, &st) != 0 || st.st_mtim.tv_sec + CLOCK_SLACK_S < o->start.tv_sec;
}

/* Rejects a file that an earlier process with this id left behind. */
static int jitfile_open_map(const struct jit_owner *o, int root, uint32_t tgid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "tmp/perf-%u.map", tgid);
	fd = jitfile_open_below(o, root, path);
	if (fd >= 0 && jitfile_is_older(o, fd)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Code in a container may be described outside of it. */
int jit_owner__open_map(const struct jit_owner *o)
{
	int fd = jitfile_open_map(o, o->root, o->inner_tgid), root;

	if (fd != -ENOENT || o->told)
		return fd;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = root < 0 ? -errno : jitfile_open_map(o, root, o->tgid);
	if (root >= 0)
		close(root);
	return fd;
}

struct dump_search {
	char name[32]; /* of the file */
	char *path;    /* the result, as the process sees it */
	uint64_t start, end;
};

static void jitfile_find_dump(const struct record_mmap *m, void *arg)
{
	struct dump_search *s = arg;
	const char *name = strrchr(m->path, '/');
	size_t sz = strlen(s->name);

	if (s->path || !name || strncmp(name + 1, s->name, sz) != 0 ||
	    (name[1 + sz] && strcmp(name + 1 + sz, " (deleted)") != 0))
		return;
	s->path = strndup(m->path, (size_t)(name - m->path) + 1 + sz);
	s->start = m->start;
	s->end = m->start + m->len;
}

static int jitfile_mapped_handle(const struct jit_owner *o, uint64_t start, uint64_t end)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)start,
		 (unsigned long long)end);
	return openat(o->proc, name, O_PATH | O_CLOEXEC);
}

int jit_owner__open_mapped(const struct jit_owner *o, const struct record_mmap *m)
{
	int handle = jitfile_mapped_handle(o, m->start, m->start + m->len), fd = -ENOENT;
	struct stat st;

	if (handle < 0) /* without the right to follow these links */
		handle = jitfile_path_handle(o->root, m->path);
	if (handle < 0)
		return -errno;
	if (fstat(handle, &st) == 0 && S_ISREG(st.st_mode))
		fd = handle__reopen(handle, NULL);
	close(handle);
	return fd;
}

/* Opens the mapped file itself, else the file that has its path now. */
static int jitfile_open_dump(const struct jit_owner *o, const struct dump_search *s)
{
	int handle = jitfile_mapped_handle(o, s->start, s->end);

	return handle >= 0 ? jitfile_open_handle(o, handle)
			   : jitfile_open_below(o, o->root, s->path);
}

int jit_owner__open_dump(const struct jit_owner *o, const char *told)
{
	struct dump_search s = { 0 };
	int maps, fd = -ENOENT;

	if (o->told)
		return told ? jitfile_open_below(o, o->root, told) : -ENOENT;
	maps = openat(o->proc, "maps", O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return -errno;
	snprintf(s.name, sizeof(s.name), "jit-%u.dump", o->inner_tgid);
	maps__read(maps, jitfile_find_dump, &s);
	close(maps);
	if (s.path)
		fd = jitfile_open_dump(o, &s);
	free(s.path);
	return fd;
}
