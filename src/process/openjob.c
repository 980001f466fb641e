// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/openjob.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/crowd.h"
#include "base/handle.h"

#define ANSWER_MS 2000 /* a slower server counts as unresponsive */

/* ---- in a thread of the jobs' -------------------------------------------------------------------
 */

static struct open_job *openjob_of(struct job *job)
{
	return (struct open_job *)((char *)job - offsetof(struct open_job, job));
}

/*
 * Waits for the child and reaps it. Returns false if it did not end within ANSWER_MS. It is killed
 * then, but may survive until the file system answers: so long, this thread hangs, too, and the
 * limits of its lane hold. At the end of the program, the thread ends.
 */
static bool openjob_ends_in_time(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool ended = fd >= 0 && poll(&p, 1, ANSWER_MS) == 1;

	if (!ended)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (fd >= 0)
		close(fd);
	return ended;
}

/*
 * Runs the child. It was forked from a multithreaded process, so it may only call
 * async-signal-safe functions. It closes all other files: a hanging child would keep rings and
 * programs alive after this process has ended.
 */
static _Noreturn void openjob_read_a_byte(int handle, const char *name)
{
	char byte;
	int fd;

	if (handle > 0)
		syscall(SYS_close_range, 0, handle - 1, 0);
	syscall(SYS_close_range, handle + 1, ~0u, 0);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	_exit(fd >= 0 && read(fd, &byte, 1) >= 0 ? 0 : 1);
}

/*
 * Returns false if the file system does not answer, or if fork fails. A process may be unable to
 * exit while one of its threads waits for a file server, and a server may never answer. So a
 * child first tests file systems without a disk (FUSE, NFS: no device number of their own). An
 * error counts as an answer. The child executes no program: one found in $PATH may belong to a
 * user.
 */
static bool openjob_answers(struct job *job)
{
	const struct open_job *o = openjob_of(job);
	char name[32];
	pid_t pid;

	if (o->handle < 0 || major(o->device) != 0)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", o->handle);
	pid = fork();
	if (pid == 0)
		openjob_read_a_byte(o->handle, name);
	return pid > 0 && openjob_ends_in_time(pid);
}

/* Opens the file in a separate cache: the table's cache is for one thread only. */
static void openjob_open_file(struct job *job)
{
	struct open_job *o = openjob_of(job);
	struct elf_cache *c = elf_cache__new(1, 0);

	if (!c)
		return;
	o->found = elf_cache__open_mapped(c, &o->request);
	o->no_elf = !o->found && errno == ENOEXEC;
	o->misnamed = !o->found && errno == EXDEV;
	if (o->found)
		elf_cache__give(c, o->found);
	elf_cache__free(c);
}

/* ---- requests -----------------------------------------------------------------------------------
 */

static bool openjob_has_handle(const struct open_job *o)
{
	return o->handle >= 0;
}

static void openjob_unname(struct open_job *o)
{
	if (o->hh_name.tbl)
		HASH_DELETE(hh_name, o->set->names, o);
	o->hh_name.tbl = NULL;
}

/* Removes the opening from the tables and releases its handle and overlays. */
static void openjob_close(struct open_job *o)
{
	openjob_unname(o);
	if (o->hh.tbl)
		HASH_DEL(o->set->openings, o);
	if (openjob_has_handle(o))
		close(o->handle);
	overlays__put(o->overlays);
}

struct open_job *open_job__get(struct open_job *o)
{
	if (o)
		o->refs++;
	return o;
}

void open_job__put(struct open_job *o)
{
	if (!o || --o->refs > 0)
		return;
	if (o->state == OPENING_WAITS) {
		o->set->waiting_cnt -= openjob_has_handle(o);
		openjob_close(o);
	}
	elf_file__put(o->file);
	free(o);
}

static void openjob_finish(struct open_job *o)
{
	struct open_jobs *s = o->set;

	if (o->file && !s->places.told && o->is_named)
		elf_cache__name(s->files, o->file, &o->map);
	o->state = OPENING_DONE;
	openjob_close(o);
}

static void openjob_done(struct job *job)
{
	struct open_job *o = openjob_of(job);
	struct stat st = { .st_dev = o->key.dev, .st_ino = o->key.ino, .st_ctim = o->ctime };
	bool known = o->key.ino && (o->found || o->no_elf);

	if (o->found)
		o->found->crowd = job->crowd;

	o->is_named = o->found && may_be_named(&o->map, o->found->dev, o->found->ino);
	if (known || o->found)
		o->file = elf_cache__adopt(o->set->files, o->found, known ? &st : NULL);
	o->set->running_cnt--;
	openjob_finish(o);
	open_job__put(o);
}

/*
 * Sets the lane and crowd of the job. A held handle stays on its device, and a disk has no server
 * that may hang. Otherwise the path is looked up as the process sees it, and may lead to any
 * device.
 */
static void openjob_set_lane(struct open_job *o)
{
	int proc = o->set->places.proc;
	uint64_t crowd;

	o->job.lane = o->device;
	if (proc < 0 || (openjob_has_handle(o) && major(o->device) != 0))
		return;
	crowd = crowd__of(proc, o->request.tgid);
	o->job.crowd = crowd ? crowd : JOB_CROWD_UNKNOWN;
	if (!openjob_has_handle(o))
		o->job.lane = crowd__lane(proc, o->request.tgid);
}

static void openjob_submit(struct open_job *o)
{
	o->job = (struct job){ .rank = JOB_FIRST,
			       .probe = openjob_answers,
			       .work = openjob_open_file,
			       .done = openjob_done };
	openjob_set_lane(o);
	o->state = OPENING_RUNS;
	o->set->running_cnt++;
	jobs__submit(o->set->jobs, &open_job__get(o)->job);
}

static void openjob_open_now(struct open_job *o)
{
	o->file = elf_cache__open_mapped(o->set->files, &o->request);
	o->no_elf = !o->file && errno == ENOEXEC;
	o->misnamed = !o->file && errno == EXDEV;
	o->is_named = o->file && may_be_named(&o->map, o->file->dev, o->file->ino);
	openjob_finish(o);
}

bool open_job__start(struct open_job *o)
{
	struct open_jobs *s = o->set;

	if (o->state != OPENING_WAITS || (s->jobs && s->running_cnt >= s->openings_max))
		return o->state == OPENING_DONE;
	s->waiting_cnt -= openjob_has_handle(o);
	if (s->jobs)
		openjob_submit(o);
	else
		openjob_open_now(o);
	return o->state == OPENING_DONE;
}

void open_job__overlay(struct open_job *o, struct overlays *overlays)
{
	if (o->state != OPENING_WAITS)
		return;
	overlays__put(o->overlays);
	o->request.overlays = o->overlays = overlays__get(overlays);
}

static struct open_job *openjob_find_key(struct open_jobs *s, struct open_key key)
{
	struct open_job *o;

	HASH_FIND(hh, s->openings, &key, sizeof(key), o);
	return o;
}

/* A file that changes while its opening waits is opened in its later state. */
struct open_job *open_job__find(struct open_jobs *s, const struct stat *st)
{
	struct open_job *o = openjob_find_key(s, (struct open_key){ st->st_dev, st->st_ino });

	return o && (o->state == OPENING_WAITS || handle__changed_at(st, o->ctime)) ? o : NULL;
}

/*
 * The handle keeps the inode number from being reused, if the device has a number (major 0:
 * none).
 */
struct open_job *open_job__find_mapped(struct open_jobs *s, const struct record_mmap *m)
{
	if (s->places.told || m->maj == 0)
		return NULL;
	return openjob_find_key(s, (struct open_key){ makedev(m->maj, m->min), m->ino });
}

static struct open_name openjob_name_of(const struct record_mmap *m)
{
	return (struct open_name){ makedev(m->maj, m->min), m->ino, m->gen };
}

static struct open_job *openjob_find_name(struct open_jobs *s, struct open_name name)
{
	struct open_job *o;

	HASH_FIND(hh_name, s->names, &name, sizeof(name), o);
	return o;
}

struct open_job *open_job__find_claimed(struct open_jobs *s, const struct open_request *r)
{
	struct open_job *o = openjob_find_name(s, openjob_name_of(r->map));

	return o && strcmp(o->path, r->path) == 0 ? o : NULL;
}

static struct open_job *openjob_make(struct open_jobs *s, const struct open_request *r)
{
	size_t path_sz = strlen(r->path) + 1;
	struct open_job *o = calloc(1, sizeof(*o) + path_sz);

	if (!o)
		return NULL;
	memcpy(o->path, r->path, path_sz);
	o->refs = 1;
	o->set = s;
	o->places = *r->places;
	o->places.errands = NULL; /* a job may wait for the process */
	o->map = *r->map;
	o->map.path = o->path;
	o->overlays = overlays__get(r->overlays);
	o->device = makedev(r->map->maj, r->map->min);
	o->handle = -1;
	o->request = (struct open_request){ .places = &o->places,
					    .overlays = o->overlays,
					    .tgid = r->tgid,
					    .map = &o->map,
					    .path = o->path };
	return o;
}

static bool openjob_only_root_writes(const struct stat *st)
{
	return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Records the name by which the file was mapped last. */
static void openjob_give_name(struct open_job *o, const struct record_mmap *m,
			      const struct stat *st)
{
	struct open_jobs *s = o->set;
	struct open_job *before;

	if (!o->key.ino || o->state != OPENING_WAITS || m->ino == 0 ||
	    !openjob_only_root_writes(st) || !may_be_named(m, o->key.dev, o->key.ino))
		return;
	openjob_unname(o);
	before = openjob_find_name(s, openjob_name_of(m));
	if (before)
		openjob_unname(before);
	o->map.maj = m->maj;
	o->map.min = m->min;
	o->map.ino = m->ino;
	o->map.gen = m->gen;
	o->name = openjob_name_of(m);
	HASH_ADD(hh_name, s->names, name, sizeof(o->name), o);
}

/*
 * Shares the opening with other mappings of the file. If the file changed since its opening
 * started, another mapping opens it again. With recorded mappings nothing is shared: the file may
 * belong to another process.
 */
static void openjob_share(struct open_job *o, const struct stat *st)
{
	struct open_jobs *s = o->set;
	struct open_key key = { st->st_dev, st->st_ino };

	if (s->places.told || openjob_find_key(s, key))
		return;
	o->key = key;
	o->ctime = st->st_ctim;
	HASH_ADD(hh, s->openings, key, sizeof(o->key), o);
}

/*
 * Takes a handle and checks the file behind it: the process may have mapped another file there
 * since `st` was read. With too many handles held, and none that can start, the opening uses the
 * path later.
 */
static void openjob_hold(struct open_job *o, const struct open_request *r)
{
	struct open_jobs *s = o->set;
	struct stat st = { 0 };
	int handle = s->waiting_cnt > s->openings_max ? -1 : open_request__handle(r);

	if (handle < 0)
		return;
	if (handle__stat(handle, "", &st) != 0 || !S_ISREG(st.st_mode)) {
		close(handle);
		return;
	}
	o->handle = handle;
	o->request.handle = &o->handle;
	o->device = st.st_dev;
	s->waiting_cnt++;
	openjob_share(o, &st);
	openjob_give_name(o, r->map, &st);
}

struct open_job *open_job__new(struct open_jobs *s, const struct open_request *r,
			       const struct stat *st)
{
	struct open_job *o = st ? open_job__find(s, st) : NULL;

	if (o) {
		openjob_give_name(o, r->map, st);
		return open_job__get(o);
	}
	o = openjob_make(s, r);
	if (!o)
		return NULL;
	if (st)
		openjob_hold(o, r);
	if (openjob_has_handle(o) ? s->waiting_cnt > s->openings_max : may_be_queried(&s->places))
		open_job__start(o);
	return o;
}
