// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/monotonic.h"
#include "base/openfiles.h"
#include "process/tablemaps.h"

#define REFRESH_NS    100000000 /* between two reads of the maps of a process */
#define REFRESH_SHARE 20	/* reading huge maps takes at most 1/20 of the time */
#define OPENINGS_MAX  1024
#define LINGER_NS     1000000000 /* from the first thread's end to the check in /proc */

/* ---- entries ------------------------------------------------------------------------------------
 */

/* Takes ownership of the image. */
static void process_adopt(struct entry *e, struct image *i)
{
	static _Atomic uint64_t versions;

	if (e->pub.image != i)
		image__put(e->pub.image);
	e->pub.image = i;
	e->pub.maps = i->maps;
	e->pub.map_cnt = i->cnt;
	e->pub.hints = i->hints;
	e->pub.version = ++versions;
}

static struct entry *process_find(const struct process_table *t, uint32_t tgid)
{
	struct entry *e;

	HASH_FIND_BYHASHVALUE(hh, t->processes, &tgid, sizeof(tgid), entry__hash(tgid), e);
	return e;
}

static struct entry *process_add(struct process_table *t, uint32_t tgid)
{
	struct entry *e = calloc(1, sizeof(*e));
	struct image *i = image__new(t->paths);

	if (!e || !i)
		goto err_out;
	e->pub.tgid = tgid;
	process_adopt(e, i);
	HASH_ADD_BYHASHVALUE(hh, t->processes, pub.tgid, sizeof(tgid), entry__hash(tgid), e);
	if (e->hh.tbl)
		return e;
err_out:
	image__put(i);
	free(e);
	return errno = ENOMEM, NULL;
}

static struct entry *process_find_or_add(struct process_table *t, uint32_t tgid)
{
	struct entry *e = process_find(t, tgid);

	return e ? e : process_add(t, tgid);
}

static void process_unqueue(struct process_table *t, struct entry *e)
{
	if (e->exited_ns)
		DL_DELETE(t->exited, e);
	e->exited_ns = 0;
}

static void process_queue(struct process_table *t, struct entry *e, uint64_t time_ns)
{
	process_unqueue(t, e);
	e->exited_ns = time_ns ? time_ns : 1;
	DL_APPEND(t->exited, e);
}

static void process_discard(struct entry *e)
{
	image__put(e->pub.image);
	open_job__put(e->pub.exe);
	overlays__put(e->overlays);
	free(e);
}

static void process_drop(struct process_table *t, struct entry *e)
{
	process_unqueue(t, e);
	HASH_DEL(t->processes, e);
	process_discard(e);
}

/* Evicts a process. Second chance: an entry used since the last pass survives one more. */
static void process_make_room(struct process_table *t)
{
	while (t->process_max && HASH_COUNT(t->processes) > t->process_max) {
		struct entry *e = t->processes;
		bool used = e->used;

		e->used = false;
		if (!used) {
			process_drop(t, e);
			continue;
		}
		HASH_DEL(t->processes, e);
		HASH_ADD_BYHASHVALUE(hh, t->processes, pub.tgid, sizeof(e->pub.tgid),
				     entry__hash(e->pub.tgid), e);
		if (!e->hh.tbl) {
			process_unqueue(t, e);
			process_discard(e);
		}
	}
}

static bool process_is_alive(const struct process_table *t, struct entry *e)
{
	bool used = e->used;
	char name[16];

	e->used = false;
	if (t->open.places.told)
		return used;
	snprintf(name, sizeof(name), "%u", e->pub.tgid);
	return faccessat(t->open.places.proc, name, F_OK, 0) == 0;
}

/*
 * Removes processes that have ended. Other threads may outlive the first thread. So a process
 * that /proc still has (perhaps a zombie) stays for another round. Without /proc, a process that
 * was looked up since then stays.
 */
static void process_sweep(struct process_table *t, uint64_t time_ns)
{
	while (t->exited && time_ns > t->exited->exited_ns + LINGER_NS) {
		struct entry *e = t->exited;

		if (process_is_alive(t, e))
			process_queue(t, e, time_ns);
		else
			process_drop(t, e);
	}
}

/* ---- /proc --------------------------------------------------------------------------------------
 */

/* Returns the current time on the clock of the records. */
static uint64_t process_now_ns(const struct process_table *t)
{
	return t->open.places.told ? t->last_ns : monotonic__ns();
}

/* Updates the entry from /proc. Leaves it unchanged if /proc has no such process. */
static void read_process(struct process_table *t, struct entry *e)
{
	uint64_t from_ns = t->open.places.told ? 0 : monotonic__ns();
	struct image *i = process_table__read(t, e);

	e->asked = true;
	if (!i || i->cnt == 0) {
		image__put(i);
		return;
	}
	process_adopt(e, i);
	e->pub.from_ns = from_ns;
	process_table__name(t, &e->pub);
	e->named = true;
}

static struct entry *process_get(struct process_table *t, uint32_t tgid)
{
	struct entry *e = process_find_or_add(t, tgid);

	if (!e || e->asked || e->told || t->open.places.past)
		return e;
	read_process(t, e);
	if (e->pub.map_cnt == 0) /* the process is gone, and its EXIT record may be lost */
		process_queue(t, e, process_now_ns(t));
	return e;
}

static void scan_process(struct process_table *t, uint32_t tgid)
{
	struct entry *e = process_find_or_add(t, tgid);

	if (!e)
		return;
	e->scan = t->scans;
	read_process(t, e);
}

/* Queues processes that the scan did not see: their EXIT records were lost. */
static void process_queue_unseen(struct process_table *t)
{
	struct entry *e, *next;
	uint64_t now = monotonic__ns();

	HASH_ITER (hh, t->processes, e, next)
		if (e->scan != t->scans && !e->exited_ns)
			process_queue(t, e, now);
}

int process_table__scan(struct process_table *t)
{
	int fd = openat(t->open.places.proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		int err = t->open.places.proc < 0 ? -ENOENT : -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	t->scans++;
	while ((d = readdir(dir))) {
		unsigned long tgid = strtoul(d->d_name, NULL, 10);

		if (tgid > 0 && tgid < UINT32_MAX)
			scan_process(t, (uint32_t)tgid);
	}
	closedir(dir);
	process_queue_unseen(t);
	return 0;
}

bool process_table__refresh(struct process_table *t, struct process *p)
{
	struct entry *e = (struct entry *)p;
	uint64_t begin_ns = monotonic__ns(), cost_ns;
	struct image *i;

	if (begin_ns < e->refresh_ns || (t->open.places.told && e->told) || t->open.places.past)
		return false;
	i = process_table__read(t, e);
	cost_ns = monotonic__ns() - begin_ns;
	e->refresh_ns = begin_ns + cost_ns * REFRESH_SHARE;
	if (e->refresh_ns < begin_ns + REFRESH_NS)
		e->refresh_ns = begin_ns + REFRESH_NS;
	image__settle(e->pub.image);
	if (!i || i->cnt == 0 || image__equal(i, e->pub.image)) {
		image__put(i);
		return false;
	}
	process_adopt(e, i);
	return true;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static void process_set_exe(struct entry *e, struct build_id id, struct open_job *exe)
{
	open_job__put(e->pub.exe);
	e->pub.build_id = id;
	e->pub.exe = open_job__get(exe);
}

static void process_apply_mmap(struct process_table *t, struct entry *e, const struct record *r)
{
	struct image *i = e->pub.image;
	struct mapping m;

	if (!(r->mmap.prot & PROT_EXEC) || process_table__map(t, e, &r->mmap, &m) != 0)
		return;
	if (e->pub.map_cnt == 0)
		process_unqueue(t, e); /* it was looked up before, and seemed to be gone */
	e->told = true;
	if (!e->named && (m.kind == MAPPING_FILE || m.opening)) {
		process_set_exe(e, m.build_id, m.build_id.sz ? NULL : m.opening);
		e->named = true;
	}
	image__insert(&i, &m);
	e->pub.image = i;
	process_adopt(e, i);
}

static void process_apply_comm(struct process_table *t, struct entry *e, const struct record *r)
{
	struct image *i = r->comm.exec ? image__new(t->paths) : NULL;

	if (!i)
		return;
	process_adopt(e, i);
	process_set_exe(e, (struct build_id){ 0 }, NULL);
	e->named = e->told = false;
	e->asked = !t->open.places.told;
	process_unqueue(t, e); /* after exec, the calling thread has the process's id */
}

static void process_apply_exit(struct process_table *t, struct entry *e, const struct record *r)
{
	if (r->tid == r->tgid)
		process_queue(t, e, r->time_ns);
}

/* Returns the entry for a record. Does not read /proc if the records report mappings. */
static struct entry *process_at_record(struct process_table *t, uint32_t tgid)
{
	return t->open.places.told ? process_find_or_add(t, tgid) : process_get(t, tgid);
}

/* Copies the parent's mappings to the child, unless the child was scanned after the fork. */
static void process_apply_fork(struct process_table *t, const struct record *r)
{
	struct entry *parent, *child = process_find(t, r->tgid);

	if (r->tgid == r->fork.parent_tgid || (child && r->time_ns < child->pub.from_ns))
		return;
	parent = process_at_record(t, r->fork.parent_tgid);
	if (child)
		process_drop(t, child);
	child = parent ? process_add(t, r->tgid) : NULL;
	if (!child)
		return;
	child->overlays = overlays__get(parent->overlays);
	if (r->time_ns < parent->pub.from_ns)
		read_process(t, child);
	if (child->pub.map_cnt > 0)
		return;
	process_adopt(child, image__get(parent->pub.image));
	child->pub.from_ns = r->time_ns;
	process_set_exe(child, parent->pub.build_id, parent->pub.exe);
	child->named = parent->named;
	child->asked = parent->asked;
	child->told = parent->told;
}

void process_table__apply(struct process_table *t, const struct record *r)
{
	static void (*const handlers[])(struct process_table *, struct entry *,
					const struct record *) = {
		[RECORD_MMAP] = process_apply_mmap,
		[RECORD_COMM] = process_apply_comm,
		[RECORD_EXIT] = process_apply_exit,
	};
	struct entry *e;

	t->last_ns = r->time_ns > t->last_ns ? r->time_ns : t->last_ns;
	process_sweep(t, r->time_ns);
	process_make_room(t);
	/* The kernel's ids for a task that has lost its id, or has none in our namespace. */
	if (r->tgid == 0 || r->tgid == UINT32_MAX)
		return;
	if (r->type == RECORD_FORK) {
		process_apply_fork(t, r);
		return;
	}
	if ((size_t)r->type >= sizeof(handlers) / sizeof(*handlers) || !handlers[r->type])
		return;
	e = r->type == RECORD_EXIT ? process_find(t, r->tgid) : process_at_record(t, r->tgid);
	if (e && r->time_ns >= e->pub.from_ns)
		handlers[r->type](t, e, r);
}

/* ---- lookups ------------------------------------------------------------------------------------
 */

struct process *process_table__get(struct process_table *t, uint32_t tgid)
{
	struct entry *e = process_find(t, tgid);

	if (!e || !(e->asked || e->told)) {
		process_make_room(t);
		e = process_get(t, tgid);
	}
	if (!e)
		return NULL;
	e->used = true;
	return &e->pub;
}

struct process *process_table__find(const struct process_table *t, uint32_t tgid)
{
	struct entry *e = process_find(t, tgid);

	return e ? &e->pub : NULL;
}

void process_table__each(const struct process_table *t,
			 void (*fn)(const struct process *, void *arg), void *arg)
{
	for (const struct entry *e = t->processes; e; e = e->hh.next)
		fn(&e->pub, arg);
}

void process_table__open(const struct process_table *t)
{
	for (const struct entry *e = t->processes; e; e = e->hh.next)
		process__open(&e->pub);
}

int process_table__overlay(struct process_table *t, uint32_t tgid, const char *at, const char *from)
{
	struct entry *e = process_at_record(t, tgid);

	int err = e ? overlays__add(&e->overlays, at, from) : -ENOMEM;

	if (!err) /* the records may have reported mappings before */
		process_table__look_again(t, e);
	return err;
}

bool process_table__collect(struct process_table *t)
{
	size_t found = t->open.places.finder ? finder__found(t->open.places.finder) : 0;
	struct entry *e, *next;

	if (found == t->found)
		return false;
	t->found = found;
	HASH_ITER (hh, t->processes, e, next)
		process_table__look_again(t, e);
	return true;
}

void process_table__stats(const struct process_table *t, struct process_table_stats *out)
{
	out->processes = HASH_COUNT(t->processes);
	out->sz = 0;
	for (const struct entry *e = t->processes; e; e = e->hh.next)
		out->sz += sizeof(*e) + image__sz(e->pub.image) / e->pub.image->refs;
	out->files = elf_cache__cnt(t->open.files);
	out->files_failed = t->open.failed_cnt;
}

struct elf_cache *process_table__files(const struct process_table *t)
{
	return t->open.files;
}

struct process_table *process_table__new(const struct process_options *o)
{
	struct process_table *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return NULL;
	t->open.jobs = o->jobs;
	t->open.places = (struct file_places){ .proc = -1,
					       .told = o->told,
					       .past = o->past,
					       .finder = o->finder,
					       .own = own_files__new(),
					       .identify = o->identify };
	t->process_max = o->process_max;
	t->open.openings_max = openfiles__share(OPENINGS_MAX);
	if (o->proc)
		t->open.places.proc = open(o->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->proc && t->open.places.proc < 0)
		goto err_out;
	if (t->open.jobs && !(t->open.places.errands = errands__new()))
		goto err_out;
	t->open.files = elf_cache__new(o->file_max, o->held_max);
	t->paths = pathtab__new();
	t->vdso = elf_file__vdso();
	file_places__identify(&t->open.places, t->vdso);
	if (t->open.files && t->paths)
		return t;
err_out:
	err = errno;
	process_table__free(t);
	return errno = err, NULL;
}

void process_table__free(struct process_table *t)
{
	struct entry *e, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->processes, e, next)
		process_drop(t, e);
	HASH_CLEAR(hh_name, t->open.names);
	HASH_CLEAR(hh, t->open.openings);
	elf_file__put(t->vdso);
	elf_cache__free(t->open.files);
	pathtab__free(t->paths);
	errands__free(t->open.places.errands);
	if (t->open.places.proc >= 0)
		close(t->open.places.proc);
	own_files__close(t->open.places.own);
	free(t);
}
