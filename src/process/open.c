// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "process/maps.h"

/*
 * One way to the file: a handle that names it (O_PATH), which opens nothing, so that a FIFO cannot
 * block us and no device notices. >= 0 or -errno.
 */
typedef int (*way_fn)(const struct open_request *);

#define NAME_SZ 80

static void name_mapped_inode(const struct open_request *r, char name[NAME_SZ])
{
	snprintf(name, NAME_SZ, "%u/map_files/%llx-%llx", r->tgid,
		 (unsigned long long)r->map->start,
		 (unsigned long long)(r->map->start + r->map->len));
}

static int by_mapped_inode(const struct open_request *r)
{
	char name[NAME_SZ];
	int fd;

	name_mapped_inode(r, name);
	fd = openat(r->proc, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int resolve(int root, const char *path, uint64_t rules)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = rules };
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* RESOLVE_IN_ROOT: a symbolic link in a container's root folder leads nowhere but into it. */
static int by_process_root(const struct open_request *r)
{
	char name[32];
	int root, fd;

	snprintf(name, sizeof(name), "%u/root", r->tgid);
	root = openat(r->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = resolve(root, r->path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	close(root);
	return fd;
}

static int by_host_path(const struct open_request *r)
{
	return resolve(AT_FDCWD, r->path, RESOLVE_NO_MAGICLINKS);
}

static const struct {
	way_fn open;
	bool exact; /* it cannot be another file */
} ways[] = {
	{ by_mapped_inode, true },
	{ by_process_root, false },
	{ by_host_path, false },
};

/*
 * Devices without a number of their own (major 0: overlay, btrfs) have one in maps and another one
 * in stat(2); the inode has to do.
 */
static bool is_mapped_inode(const struct record_mmap *m, const struct stat *st)
{
	bool anonymous = m->maj == 0 && major(st->st_dev) == 0;

	return m->ino != 0 && m->ino == st->st_ino &&
	       (anonymous || makedev(m->maj, m->min) == st->st_dev);
}

/* Opens what a handle names; O_NONBLOCK, because a lease on the file would hold us up for 45 s. */
static struct elf_file *open_handle(struct elf_cache *c, int handle, const char *path,
				    const struct build_id *expected)
{
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", handle);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? NULL : elf_cache__open(c, fd, path, expected);
}

static const struct build_id *expected_of(const struct open_request *r)
{
	return r->map->build_id.sz > 0 ? &r->map->build_id : NULL;
}

static struct elf_file *use(struct elf_cache *c, const struct open_request *r, int handle,
			    bool exact)
{
	const struct build_id *expected = expected_of(r);
	struct elf_file *f;
	struct stat st;

	if (fstat(handle, &st) != 0)
		return NULL;
	if (!S_ISREG(st.st_mode))
		return errno = exact ? ENOEXEC : ESTALE, NULL;
	if (!exact && !expected && !is_mapped_inode(r->map, &st))
		return errno = ESTALE, NULL;
	f = elf_cache__find(c, &st, expected);
	if (!f && errno == ENOENT)
		f = open_handle(c, handle, r->path, expected);
	return f;
}

/* One system call says what nearly always is known already; else which way to try first. */
static struct elf_file *find_mapped_inode(struct elf_cache *c, const struct open_request *r,
					  size_t *way)
{
	char name[NAME_SZ];
	struct stat st;

	name_mapped_inode(r, name);
	*way = fstatat(r->proc, name, &st, 0) == 0 ? 0 : 1;
	if (*way > 0)
		return NULL;
	return elf_cache__find(c, &st, expected_of(r));
}

/*
 * The process is gone, mostly, and its libraries are everybody's: asking for them again by path
 * would cost 5 system calls each. A forged file gets the names of the real one here, no other file
 * gets its.
 */
static struct elf_file *find_by_claim(struct elf_cache *c, const struct open_request *r)
{
	struct elf_file *f = elf_cache__by_build_id(c, &r->map->build_id);

	if (f && strcmp(f->path, r->path) == 0)
		return f;
	elf_file__put(f);
	return NULL;
}

struct elf_file *elf_cache__open_mapped(struct elf_cache *c, const struct open_request *r)
{
	size_t way;
	struct elf_file *f = find_mapped_inode(c, r, &way);
	int err = errno;

	if (!f && way > 0)
		f = find_by_claim(c, r);
	if (f || err == ENOEXEC)
		return f;
	for (; way < sizeof(ways) / sizeof(*ways); way++) {
		int handle = ways[way].open(r);

		if (handle < 0) {
			err = -handle;
			continue;
		}
		f = use(c, r, handle, ways[way].exact);
		err = f ? 0 : errno;
		close(handle);
		if (f || (err == ENOEXEC && ways[way].exact))
			return errno = err, f;
	}
	f = elf_cache__by_build_id(c, &r->map->build_id);
	return errno = f ? 0 : err, f;
}

static void find_vdso(const struct record_mmap *m, void *arg)
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
		maps__read(maps, find_vdso, &sz);
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
