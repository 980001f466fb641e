// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/openpath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/handle.h"
#include "process/maps.h"
#include "process/mmquery.h"

/*
 * One way to find the file. Returns a handle (base/handle.h) of the file in the nth place of this
 * way, or -errno; -ERANGE: there is no such place.
 */
typedef int (*way_fn)(const struct open_request *, size_t nth);

static bool openpath_is_path(const struct open_request *r)
{
	return r->path[0] == '/'; /* "[vdso]" is none */
}

static struct mmquery openpath_mmquery_of(const struct open_request *r)
{
	return (struct mmquery){ r->places->proc, r->places->errands, r->tgid };
}

int open_request__handle(const struct open_request *r)
{
	struct mmquery query = openpath_mmquery_of(r);

	return mmquery__handle(&query, r->map->start, r->map->len);
}

/* Returns true if only a path identifies the file, or a path and an inode. */
static bool openpath_is_vague(const struct record_mmap *m)
{
	return m->build_id.sz == 0 && m->maj == 0 && m->min == 0;
}

/* Returns true if the process may be queried. If another process may have this id now, only files
 * that can be told apart are taken from it. */
static bool openpath_may_query_process(const struct open_request *r)
{
	return r->places->proc >= 0 && !(r->places->past && openpath_is_vague(r->map));
}

static int openpath_by_mapped_inode(const struct open_request *r, size_t nth)
{
	int fd;

	if (nth > 0 || !openpath_may_query_process(r))
		return -ERANGE;
	if (!r->handle)
		return open_request__handle(r);
	fd = fcntl(*r->handle, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

static int openpath_by_sysroot(const struct open_request *r, size_t nth)
{
	if (nth > 0 || !r->places->finder || !openpath_is_path(r))
		return -ERANGE;
	return finder__by_path(r->places->finder, r->path);
}

/* Returns true if paths may be tried. A held handle is the file itself; a path could lead to a
 * device that hangs and has another lane than the job. */
static bool openpath_may_try_path(const struct open_request *r)
{
	return !r->handle && openpath_is_path(r);
}

static int openpath_by_process_root(const struct open_request *r, size_t nth)
{
	char name[32];
	int root, fd;

	if (nth > 0 || !openpath_may_query_process(r) || !openpath_may_try_path(r))
		return -ERANGE;
	snprintf(name, sizeof(name), "%u/root", r->tgid);
	root = openat(r->places->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = handle__below(root, r->path);
	close(root);
	return fd;
}

static int openpath_by_overlay(const struct open_request *r, size_t nth)
{
	return openpath_may_try_path(r) ? overlays__open(r->overlays, r->path, nth) : -ERANGE;
}

static int openpath_by_host_path(const struct open_request *r, size_t nth)
{
	return nth > 0 || !openpath_may_try_path(r) ? -ERANGE : handle__open(r->path);
}

static int openpath_by_build_id(const struct open_request *r, size_t nth)
{
	return r->places->finder ? finder__by_build_id(r->places->finder, &r->map->build_id, nth)
				 : -ERANGE;
}

static const struct {
	way_fn open;
	enum trust {
		TRUST_IDENTITY, /* a file with the build ID, or else the inode */
		TRUST_PATH,	/* a file with both, if both were recorded */
		TRUST_NAME,	/* a file with the build ID: the place is named after it */
		TRUST_COPY,	/* also a file without it: the user put it there on purpose */
		TRUST_ALL,	/* it is the file, unless the process is another one */
	} trust;
	bool by_process; /* as the process sees it */
} ways[] = {
	{ openpath_by_sysroot, TRUST_COPY, false },
	{ openpath_by_mapped_inode, TRUST_ALL, true },
	{ openpath_by_process_root, TRUST_IDENTITY, true },
	{ openpath_by_overlay, TRUST_IDENTITY, false },
	{ openpath_by_host_path, TRUST_PATH, false },
	{ openpath_by_build_id, TRUST_NAME, false },
};

/*
 * Compares the inode only, for a device without a number of its own (major 0: overlay, btrfs): it
 * has one number in maps and another in stat(2). Also if the records have no device (0:0).
 */
static bool openpath_is_mapped_inode(const struct record_mmap *m, const struct stat *st)
{
	bool anonymous = m->maj == 0 && (m->min == 0 || major(st->st_dev) == 0);

	return m->ino != 0 && m->ino == st->st_ino &&
	       (anonymous || makedev(m->maj, m->min) == st->st_dev);
}

/* Compares no devices without a number of their own. */
static bool openpath_is_other_inode(const struct record_mmap *m, uint64_t dev, uint64_t ino)
{
	return m->ino != ino || (m->maj && major(dev) && makedev(m->maj, m->min) != dev);
}

/* Returns false if a build ID that was recorded by path belongs to another file, because the inode
 * differs. */
static bool openpath_may_be_mapped(const struct open_request *r, const struct stat *st)
{
	const struct record_mmap *m = r->map;

	if (m->by_path)
		return !openpath_is_other_inode(m, st->st_dev, st->st_ino);
	return m->build_id.sz > 0 || openpath_is_mapped_inode(m, st) ||
	       (r->places->told && m->ino == 0 && openpath_is_vague(m));
}

/* Returns true if the file has code at the offsets where the process has. */
static bool openpath_has_code(const struct elf_file *f, const struct record_mmap *m)
{
	for (size_t i = 0; i < f->segment_cnt; i++) {
		const struct elf_segment *s = &f->segments[i];

		if ((s->flags & PF_X) && m->pgoff < s->off + s->sz && m->pgoff + m->len > s->off)
			return true;
	}
	return false;
}

static const struct build_id *openpath_expected_id(const struct open_request *r)
{
	return r->map->build_id.sz > 0 ? &r->map->build_id : NULL;
}

/* Like openpath_expected_id(), for a file that the process itself shows, or that is in the sysroot.
 * If it has the recorded inode, it need not have a build ID that was recorded by path. */
static const struct build_id *openpath_expected_id_with(const struct open_request *r,
							const struct stat *st)
{
	return r->map->by_path && openpath_is_mapped_inode(r->map, st) ? NULL
								       : openpath_expected_id(r);
}

/* A file that was found. */
struct openpath_candidate {
	int handle;
	struct stat st;
	const struct build_id *expected; /* NULL: any */
	bool by_process; /* found through a process, which may be in another mount namespace */
};

static struct elf_file *openpath_read_candidate(const struct open_request *r,
						const struct openpath_candidate *x, int fd)
{
	struct elf_file *f = elf_file__new(fd, r->path);

	if (x->by_process)
		elf_file__check_place(f, r->path);
	return f;
}

static struct elf_file *openpath_open_candidate(struct elf_cache *c, const struct open_request *r,
						const struct openpath_candidate *x)
{
	struct elf_file *f = elf_cache__find(c, &x->st, x->expected);
	int fd;

	if (f || errno != ENOENT)
		return f;
	fd = handle__reopen(x->handle, &r->places->own);
	f = fd < 0 ? (errno = -fd, NULL)
		   : elf_cache__take(c, openpath_read_candidate(r, x, fd), x->expected);
	if (!f && errno == ENOEXEC) {
		elf_cache__adopt(c, NULL, &x->st);
		errno = ENOEXEC;
	}
	return f;
}

/* Returns how far the files of a way are trusted: a process of this host uses the files of this
 * host; recorded processes had others. */
static enum trust trust_of(const struct open_request *r, size_t way)
{
	enum trust t = ways[way].trust;

	return t == (r->places->told ? TRUST_ALL : TRUST_COPY) ? TRUST_IDENTITY : t;
}

static struct elf_file *openpath_use(struct elf_cache *c, const struct open_request *r, int handle,
				     size_t way)
{
	enum trust trust = trust_of(r, way);
	bool sure = trust == TRUST_ALL, by_path = trust == TRUST_PATH || trust == TRUST_NAME;
	bool identified = trust == TRUST_IDENTITY || trust == TRUST_PATH;
	struct openpath_candidate x = { .handle = handle, .by_process = ways[way].by_process };
	struct elf_file *f;

	if (fstat(handle, &x.st) != 0)
		return NULL;
	if (!S_ISREG(x.st.st_mode))
		return errno = sure ? ENOEXEC : ESTALE, NULL;
	if (identified && !openpath_may_be_mapped(r, &x.st))
		return errno = ESTALE, NULL;
	x.expected = by_path ? openpath_expected_id(r) : openpath_expected_id_with(r, &x.st);
	f = openpath_open_candidate(c, r, &x);
	sure |= x.expected || (identified && !openpath_is_vague(r->map));
	if (!f || sure || openpath_has_code(f, r->map))
		return f;
	elf_file__put(f);
	return errno = ESTALE, NULL;
}

/*
 * Finds a file that is held open. It keeps its inode number, so a mapping with this number is of
 * this file, which was read already unless it has changed since. fstat() of the file costs a sixth
 * of querying the process. Devices without a number of their own (major 0) may have several files
 * with one number.
 */
static struct elf_file *openpath_find_held(struct elf_cache *c, const struct open_request *r)
{
	const struct record_mmap *m = r->map;
	struct elf_file *f = m->maj && !r->places->told ? elf_cache__by_name(c, m) : NULL;
	struct stat st = { 0 };

	if (f && f->dev == makedev(m->maj, m->min) && f->ino == m->ino &&
	    handle__stat(f->fd, "", &st) == 0 && handle__changed_at(&st, f->ctime))
		return f;
	elf_file__put(f);
	return NULL;
}

/* Finds a known file by one system call. Sets *there if the process has the mapping. */
static struct elf_file *openpath_find_mapped_inode(struct elf_cache *c,
						   const struct open_request *r, struct stat *st,
						   bool *there)
{
	struct mmquery query = openpath_mmquery_of(r);

	*there = may_be_queried(r->places) &&
		 mmquery__stat(&query, r->map->start, r->map->len, st) == 0 &&
		 (!r->places->told || openpath_may_be_mapped(r, st));
	return *there ? elf_cache__find(c, st, openpath_expected_id_with(r, st))
		      : (errno = ENOENT, NULL);
}

/*
 * Finds a shared library by the path and identity from the records, because the process has usually
 * ended: opening it by path again would cost 5 system calls. A forged file can only get the names
 * of the real one here; no other file gets the names of the forged one.
 */
static struct elf_file *openpath_find_by_claim(struct elf_cache *c, const struct open_request *r)
{
	struct elf_file *f = r->places->told ? elf_cache__by_build_id(c, &r->map->build_id)
					     : elf_cache__by_name(c, r->map);

	if (f && strcmp(f->path, r->path) == 0 &&
	    !(r->map->by_path && openpath_is_other_inode(r->map, f->dev, f->ino)))
		return f;
	elf_file__put(f);
	return NULL;
}

/*
 * Returns true if the build ID that was recorded by path belongs to the file with this path here,
 * while another inode was mapped, as in a chroot or a container: perf reads the build ID of the
 * file that it finds by the path in the process. The build ID is then not used to search.
 */
static bool openpath_is_misnamed(struct elf_cache *c, const struct open_request *r)
{
	struct openpath_candidate x = { .expected = openpath_expected_id(r) };
	struct elf_file *f = NULL;

	if (!r->map->by_path || !openpath_is_path(r))
		return false;
	x.handle = handle__open(r->path);
	if (x.handle < 0)
		return false;
	if (fstat(x.handle, &x.st) == 0 && S_ISREG(x.st.st_mode) &&
	    openpath_is_other_inode(r->map, x.st.st_dev, x.st.st_ino))
		f = openpath_open_candidate(c, r, &x);
	close(x.handle);
	elf_file__put(f);
	return f != NULL;
}

/* Returns the file from the first place that has it. Sets *err to 0, or to the reason why the last
 * place does not have it. */
static struct elf_file *openpath_try_way(struct elf_cache *c, const struct open_request *r,
					 size_t way, int *err)
{
	struct elf_file *f = NULL;
	int handle;

	for (size_t nth = 0; !f && (handle = ways[way].open(r, nth)) != -ERANGE; nth++) {
		*err = -handle;
		if (handle < 0)
			continue;
		f = openpath_use(c, r, handle, way);
		*err = f ? 0 : errno;
		close(handle);
	}
	return f;
}

static struct elf_file *openpath_try_ways(struct elf_cache *c, const struct open_request *r,
					  int *err)
{
	struct elf_file *f = NULL;

	for (size_t way = 0; !f && way < sizeof(ways) / sizeof(*ways); way++) {
		if (ways[way].trust == TRUST_NAME && openpath_is_misnamed(c, r))
			return *err = EXDEV, NULL;
		f = openpath_try_way(c, r, way, err);
		if (*err == ENOEXEC && trust_of(r, way) == TRUST_ALL)
			return NULL;
	}
	if (!f)
		f = elf_cache__by_build_id(c, &r->map->build_id);
	if (!f && r->places->finder)
		finder__request_download(r->places->finder, &r->map->build_id);
	return f;
}

struct elf_file *elf_cache__find_mapped(struct elf_cache *c, const struct open_request *r,
					struct stat *st, bool *there)
{
	struct elf_file *f = openpath_find_held(c, r);
	int err;

	if (f)
		return f;
	f = openpath_find_mapped_inode(c, r, st, there);
	err = errno;
	if (f && !r->places->told && may_be_named(r->map, st->st_dev, st->st_ino))
		elf_cache__name(c, f, r->map);
	if (!f && !*there)
		f = openpath_find_by_claim(c, r);
	return errno = err, f;
}

void file_places__identify(const struct file_places *p, struct elf_file *f)
{
	if (f && p->identify && !f->origin)
		f->origin = p->identify(f);
}

struct elf_file *elf_cache__open_mapped(struct elf_cache *c, const struct open_request *r)
{
	bool there;
	struct stat st;
	struct elf_file *f = r->handle ? NULL : elf_cache__find_mapped(c, r, &st, &there);
	int err = errno;

	if (f || (!r->handle && err == ENOEXEC && !r->places->told))
		return f;
	f = openpath_try_ways(c, r, &err);
	file_places__identify(r->places, f);
	return errno = f ? 0 : err, f;
}

static void openpath_find_vdso(const struct record_mmap *m, void *arg)
{
	if (strcmp(m->path, "[vdso]") == 0)
		*(uint64_t *)arg = m->len;
}

struct elf_file *elf_file__vdso(void)
{
	const void *at = (const void *)getauxval(AT_SYSINFO_EHDR);
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	uint64_t sz = 0;
	void *image;

	if (maps >= 0) {
		maps__read(maps, openpath_find_vdso, &sz);
		close(maps);
	}
	if (!at || sz == 0)
		return errno = ENOENT, NULL;
	image = malloc(sz);
	if (!image)
		return NULL;
	memcpy(image, at, sz);
	return elf_file__from_memory(image, sz, "[vdso]");
}
