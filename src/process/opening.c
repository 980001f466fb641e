// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process/handle.h"

#define CHILD_FD     3
#define ANSWER_MS    2000 /* a server that takes longer does not answer */
#define OPENINGS_MAX 1024 /* under way, each with an open handle */

struct work {
	struct job job;
	/* what the file is opened by: */
	struct open_request request;
	struct file_places places;
	struct record_mmap map;
	char *path;
	int handle; /* -1: none */
	/* what came of it: */
	struct elf_file *file;
	bool no_elf;
	/* of who asks: */
	struct process_table *table;
	struct opening *opening; /* a reference */
	struct stat st;
	bool has_st;
};

/* ---- in a thread of the jobs' -------------------------------------------------------------------
 */

static bool ends_in_time(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool ended = fd >= 0 && poll(&p, 1, ANSWER_MS) == 1;

	if (!ended)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, ended ? 0 : WNOHANG);
	if (fd >= 0)
		close(fd);
	return ended;
}

/*
 * A process may not end while one of its threads waits for a file server that has a request of
 * its, and a server may never answer. So another process asks first whether a file system without
 * a disk (FUSE, NFS: no device number of their own) answers; it is left to its fate if it does not.
 */
static bool answers(struct job *job)
{
	const struct work *w = (const struct work *)job;
	char name[32], *argv[] = { "head", "-c", "1", name, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int err;

	if (w->handle < 0 || major(w->st.st_dev) != 0)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", CHILD_FD);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, 0, 1);
	posix_spawn_file_actions_adddup2(&actions, 0, 2);
	posix_spawn_file_actions_adddup2(&actions, w->handle, CHILD_FD);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err || ends_in_time(pid);
}

/* In a cache of its own: the table's is for one thread. */
static void open_file(struct job *job)
{
	struct work *w = (struct work *)job;
	struct elf_cache *c = elf_cache__new(1, 0);

	if (!c)
		return;
	w->file = elf_cache__open_mapped(c, &w->request);
	w->no_elf = !w->file && errno == ENOEXEC;
	if (w->file)
		elf_cache__give(c, w->file);
	elf_cache__free(c);
}

/* ---- who asks -----------------------------------------------------------------------------------
 */

struct opening *opening__get(struct opening *o)
{
	if (o)
		o->refs++;
	return o;
}

void opening__put(struct opening *o)
{
	if (!o || --o->refs > 0)
		return;
	elf_file__put(o->file);
	free(o);
}

static struct opening *find_key(struct process_table *t, struct opening_key key)
{
	struct opening *o;

	HASH_FIND(hh, t->openings, &key, sizeof(key), o);
	return o;
}

struct opening *opening__find(struct process_table *t, const struct stat *st)
{
	struct opening *o = find_key(t, (struct opening_key){ st->st_dev, st->st_ino });

	return o && handle__changed_at(st, o->ctime) ? o : NULL;
}

/* Its handle keeps the file's number its own, where the device has one (major 0: none). */
struct opening *opening__find_mapped(struct process_table *t, const struct record_mmap *m)
{
	if (t->places.told || m->maj == 0)
		return NULL;
	return find_key(t, (struct opening_key){ makedev(m->maj, m->min), m->ino });
}

static void work__free(struct work *w)
{
	if (w->handle >= 0)
		close(w->handle);
	opening__put(w->opening);
	free(w->path);
	free(w);
}

static void done(struct job *job)
{
	struct work *w = (struct work *)job;
	struct process_table *t = w->table;
	struct opening *o = w->opening;

	if (w->has_st && (w->file || w->no_elf))
		o->file = elf_cache__adopt(t->files, w->file, &w->st);
	else if (w->file)
		o->file = elf_cache__adopt(t->files, w->file, NULL);
	if (o->file && !w->places.told)
		elf_cache__name(t->files, o->file, &w->map);
	t->files_failed += !o->file && !w->no_elf;
	o->done = true;
	if (o->hh.tbl)
		HASH_DEL(t->openings, o);
	t->opening_cnt--;
	work__free(w);
}

static struct work *work__new(struct process_table *t, const struct open_request *r,
			      const struct stat *st)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->handle = -1;
	w->path = strdup(r->path);
	w->opening = calloc(1, sizeof(*w->opening));
	if (!w->path || !w->opening) {
		work__free(w);
		return NULL;
	}
	w->opening->refs = 1;
	w->job = (struct job){ .rank = JOB_FIRST,
			       .lane = st ? st->st_dev : makedev(r->map->maj, r->map->min),
			       .probe = answers,
			       .work = open_file,
			       .done = done };
	w->places = *r->places;
	w->map = *r->map;
	w->map.path = w->path;
	if (st) {
		w->handle = open_request__handle(r);
		w->st = *st;
		w->has_st = true;
	}
	w->request = (struct open_request){ .places = &w->places,
					    .tgid = r->tgid,
					    .map = &w->map,
					    .path = w->path,
					    .handle = w->handle >= 0 ? &w->handle : NULL };
	w->table = t;
	return w;
}

/* Lack of memory only means that another mapping of the file opens it, too; as does that it was
 * changed since its opening began. */
static void share(struct process_table *t, struct opening *o, const struct stat *st)
{
	o->key = (struct opening_key){ st->st_dev, st->st_ino };
	o->ctime = st->st_ctim;
	if (!find_key(t, o->key))
		HASH_ADD(hh, t->openings, key, sizeof(o->key), o);
}

struct opening *opening__begin(struct process_table *t, const struct open_request *r,
			       const struct stat *st)
{
	struct opening *o = st ? opening__find(t, st) : NULL;
	struct work *w;

	if (o)
		return opening__get(o);
	w = t->opening_cnt < OPENINGS_MAX ? work__new(t, r, st) : NULL;
	if (!w)
		return NULL;
	o = opening__get(w->opening);
	if (w->handle >= 0)
		share(t, o, st);
	t->opening_cnt++;
	jobs__submit(t->jobs, &w->job);
	return o;
}
