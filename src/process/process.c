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
#include "process/open.h"
#include "process/table.h"

#define REFRESH_NS    100000000	 /* between two readings of a process's maps */
#define REFRESH_SHARE 20	 /* and no more than this part of the time, for huge ones */
#define LINGER_NS     1000000000 /* after the first thread's end, until it is looked for in /proc */

/* ---- entries ------------------------------------------------------------------------------------
 */

/* Takes the image. */
static void adopt(struct entry *e, struct image *i)
{
	if (e->image != i)
		image__put(e->image);
	e->image = i;
	e->pub.maps = i->maps;
	e->pub.map_cnt = i->cnt;
}

static struct entry *find(const struct process_table *t, uint32_t tgid)
{
	struct entry *e;

	HASH_FIND(hh, t->processes, &tgid, sizeof(tgid), e);
	return e;
}

static struct entry *add(struct process_table *t, uint32_t tgid)
{
	struct entry *e = calloc(1, sizeof(*e));
	struct image *i = image__new(t->paths);

	if (!e || !i)
		goto err_out;
	e->pub.tgid = tgid;
	adopt(e, i);
	HASH_ADD(hh, t->processes, pub.tgid, sizeof(e->pub.tgid), e);
	if (e->hh.tbl)
		return e;
err_out:
	image__put(i);
	free(e);
	return errno = ENOMEM, NULL;
}

static void unqueue(struct process_table *t, struct entry *e)
{
	if (e->exited_ns)
		DL_DELETE(t->exited, e);
	e->exited_ns = 0;
}

static void queue(struct process_table *t, struct entry *e, uint64_t time_ns)
{
	unqueue(t, e);
	e->exited_ns = time_ns ? time_ns : 1;
	DL_APPEND(t->exited, e);
}

static void drop(struct process_table *t, struct entry *e)
{
	unqueue(t, e);
	HASH_DEL(t->processes, e);
	image__put(e->image);
	free(e);
}

/*
 * The end of a first thread is not yet the end of its process: other threads may go on. So those
 * that /proc still has (perhaps unwaited for) stay for another round.
 */
static void sweep(struct process_table *t, uint64_t time_ns)
{
	while (t->exited && time_ns > t->exited->exited_ns + LINGER_NS) {
		struct entry *e = t->exited;
		char name[16];

		snprintf(name, sizeof(name), "%u", e->pub.tgid);
		if (faccessat(t->proc, name, F_OK, 0) == 0)
			queue(t, e, time_ns);
		else
			drop(t, e);
	}
}

/* ---- /proc --------------------------------------------------------------------------------------
 */

/* Makes the entry what /proc says. What is not there leaves the entry as it was. */
static void read_process(struct process_table *t, struct entry *e)
{
	uint64_t from_ns = monotonic__ns();
	struct image *i = process_table__read(t, e->pub.tgid);

	if (!i || i->cnt == 0) {
		image__put(i);
		return;
	}
	adopt(e, i);
	e->pub.from_ns = from_ns;
	e->pub.build_id = process_table__exe(t, e->pub.tgid, i);
	e->named = true;
}

static struct entry *get(struct process_table *t, uint32_t tgid)
{
	struct entry *e = find(t, tgid);

	if (e)
		return e;
	e = add(t, tgid);
	if (!e)
		return NULL;
	read_process(t, e);
	if (e->pub.map_cnt == 0) /* gone, and its end perhaps too */
		queue(t, e, monotonic__ns());
	return e;
}

static void scan_process(struct process_table *t, uint32_t tgid)
{
	struct entry *e = find(t, tgid);

	if (!e)
		e = add(t, tgid);
	if (!e)
		return;
	e->scan = t->scans;
	read_process(t, e);
}

/* Whose end was lost with other records: the scan did not see them. */
static void queue_unseen(struct process_table *t)
{
	struct entry *e, *next;
	uint64_t now = monotonic__ns();

	HASH_ITER (hh, t->processes, e, next)
		if (e->scan != t->scans && !e->exited_ns)
			queue(t, e, now);
}

int process_table__scan(struct process_table *t)
{
	int fd = openat(t->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		int err = -errno;

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
	queue_unseen(t);
	return 0;
}

bool process_table__refresh(struct process_table *t, struct process *p)
{
	struct entry *e = (struct entry *)p;
	uint64_t begin_ns = monotonic__ns(), cost_ns;
	struct image *i;

	if (begin_ns < e->refresh_ns)
		return false;
	i = process_table__read(t, p->tgid);
	cost_ns = monotonic__ns() - begin_ns;
	e->refresh_ns = begin_ns + cost_ns * REFRESH_SHARE;
	if (e->refresh_ns < begin_ns + REFRESH_NS)
		e->refresh_ns = begin_ns + REFRESH_NS;
	if (!i || i->cnt == 0 || image__equal(i, e->image)) {
		image__put(i);
		return false;
	}
	adopt(e, i);
	return true;
}

/* ---- records ------------------------------------------------------------------------------------
 */

static void apply_mmap(struct process_table *t, struct entry *e, const struct record *r)
{
	struct image *i = e->image;
	struct mapping m;

	if (!(r->mmap.prot & PROT_EXEC) || process_table__map(t, e->pub.tgid, &r->mmap, &m) != 0)
		return;
	if (!e->named && m.kind == MAPPING_FILE) {
		e->pub.build_id = m.build_id;
		e->named = true;
	}
	image__insert(&i, &m);
	e->image = i;
	adopt(e, i);
}

static void apply_comm(struct process_table *t, struct entry *e, const struct record *r)
{
	struct image *i = r->comm.exec ? image__new(t->paths) : NULL;

	if (!i)
		return;
	adopt(e, i);
	e->pub.build_id = (struct build_id){ 0 };
	e->named = false;
	unqueue(t, e); /* the thread that called exec has the first one's id now */
}

static void apply_exit(struct process_table *t, struct entry *e, const struct record *r)
{
	if (r->tid == r->tgid)
		queue(t, e, r->time_ns);
}

/* A child begins with its parent's mappings, but for one scanned later than it forked. */
static void apply_fork(struct process_table *t, const struct record *r)
{
	struct entry *parent, *child = find(t, r->tgid);

	if (r->tgid == r->fork.parent_tgid || (child && r->time_ns < child->pub.from_ns))
		return;
	parent = get(t, r->fork.parent_tgid);
	if (child)
		drop(t, child);
	child = parent ? add(t, r->tgid) : NULL;
	if (!child)
		return;
	if (r->time_ns < parent->pub.from_ns)
		read_process(t, child);
	if (child->pub.map_cnt > 0)
		return;
	adopt(child, image__get(parent->image));
	child->pub.from_ns = r->time_ns;
	child->pub.build_id = parent->pub.build_id;
	child->named = parent->named;
}

void process_table__apply(struct process_table *t, const struct record *r)
{
	static void (*const handlers[])(struct process_table *, struct entry *,
					const struct record *) = {
		[RECORD_MMAP] = apply_mmap,
		[RECORD_COMM] = apply_comm,
		[RECORD_EXIT] = apply_exit,
	};
	struct entry *e;

	sweep(t, r->time_ns);
	/* The kernel's ids for a task that is past having one, or in no namespace of ours. */
	if (r->tgid == 0 || r->tgid == UINT32_MAX)
		return;
	if (r->type == RECORD_FORK) {
		apply_fork(t, r);
		return;
	}
	if ((size_t)r->type >= sizeof(handlers) / sizeof(*handlers) || !handlers[r->type])
		return;
	e = r->type == RECORD_EXIT ? find(t, r->tgid) : get(t, r->tgid);
	if (e && r->time_ns >= e->pub.from_ns)
		handlers[r->type](t, e, r);
}

/* ---- lookups ------------------------------------------------------------------------------------
 */

struct process *process_table__get(struct process_table *t, uint32_t tgid)
{
	struct entry *e = get(t, tgid);

	return e ? &e->pub : NULL;
}

struct process *process_table__find(const struct process_table *t, uint32_t tgid)
{
	struct entry *e = find(t, tgid);

	return e ? &e->pub : NULL;
}

const struct mapping *process__find(const struct process *p, uint64_t addr)
{
	size_t lo = 0, hi = p->map_cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->map_cnt && p->maps[lo].start <= addr ? &p->maps[lo] : NULL;
}

void process_table__stats(const struct process_table *t, struct process_table_stats *out)
{
	out->processes = HASH_COUNT(t->processes);
	out->files = elf_cache__cnt(t->files);
	out->files_failed = t->files_failed;
}

struct process_table *process_table__new(const char *proc)
{
	struct process_table *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return NULL;
	t->proc = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->proc < 0)
		goto err_out;
	t->files = elf_cache__new();
	t->paths = pathtab__new();
	t->vdso = elf_file__vdso();
	if (t->files && t->paths)
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
		drop(t, e);
	elf_file__put(t->vdso);
	elf_cache__free(t->files);
	pathtab__free(t->paths);
	if (t->proc >= 0)
		close(t->proc);
	free(t);
}
