// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/handle.h"
#include "base/mount.h"
#include "base/strcopy.h"
#include "elf/section.h"

#define CRC_MAX	   (2LL << 30)	  /* bytes read for a CRC */
#define LINK_MAX   (NAME_MAX + 8) /* bytes of a section that names the debug file */
#define UNPACK_MAX (64U << 20)
#define LZMA_MAX   (128U << 20) /* bytes that the decoder may allocate */

/* Checks the file type before opening: opening a device can have effects. Closes the handle. */
static int debugfile_open_regular(int handle)
{
	struct stat st;
	int fd = -1;

	if (handle < 0)
		return -1;
	if (handle__stat(handle, "", &st) == 0 && S_ISREG(st.st_mode))
		fd = handle__reopen(handle, NULL);
	close(handle);
	return fd;
}

static bool debugfile_same_owner(int a, int b)
{
	struct stat sta, stb;

	return fstat(a, &sta) == 0 && fstat(b, &stb) == 0 && sta.st_uid == stb.st_uid;
}

/* Returns whether the owner of `fd` may speak about the file. */
static bool debugfile_trusts(const struct elf_file *f, int fd)
{
	if (elf_file__trusts(fd))
		return elf_file__looks_like_one(fd);
	return !f->trusted && debugfile_same_owner(f->fd, fd);
}

static bool debugfile_has_crc(int fd, uint32_t want)
{
	unsigned char bytes[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t off = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), off)) > 0 && (off += n) < CRC_MAX)
		crc = crc32(crc, bytes, (uInt)n);
	return n == 0 && crc == want;
}

static bool debugfile_is_wanted(const struct elf_file *f, const struct elf_file *debug,
				const uint32_t *crc)
{
	return f->build_id.sz ? build_id__equal(&f->build_id, &debug->build_id)
			      : crc && debugfile_has_crc(debug->fd, *crc);
}

/* Returns false if the file has no build ID, or if the path is too long. */
static bool debugfile_find_path(const struct elf_file *f, const char *dir,
				char path[static PATH_MAX])
{
	char hex[2 * BUILD_ID_MAX + 1];

	if (f->build_id.sz < 2)
		return false;
	for (size_t i = 0; i < f->build_id.sz; i++)
		snprintf(hex + 2 * i, 3, "%02x", f->build_id.bytes[i]);
	return snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2) < PATH_MAX;
}

/* The prefix of the file's folder, and the folder between it and the name; NULL: DIR. */
static const char *const link_places[DEBUG_PLACE_CNT][2] = {
	[DEBUG_BESIDE] = { "", "" },
	[DEBUG_IN_FOLDER] = { "", ".debug/" },
	[DEBUG_BELOW_DIR] = { NULL, "" },
};

/* Returns false if there is no such place. */
static bool debugfile_link_path(const struct elf_file *f, const char *dir,
				const struct debug_query *q, char path[static PATH_MAX])
{
	const char *slash = strrchr(f->path, '/');
	const char *const *place = link_places[q->place];
	int n;

	if (!slash || q->name[0] == '\0' || strchr(q->name, '/') || strstr(f->path, "/../"))
		return false;
	n = snprintf(path, PATH_MAX, "%s%.*s/%s%s", place[0] ? place[0] : dir,
		     (int)(slash - f->path), f->path, place[1], q->name);
	return n > 0 && n < PATH_MAX && strcmp(path, f->path) != 0;
}

/* Returns whether a file system may be waited for: the file's own, which can only keep its own lane
 * of jobs from working, or one that no user can have mounted. */
static bool debug_file__may_wait_for(int folder, const struct elf_file *f)
{
	struct stat st;

	return handle__stat(folder, "", &st) == 0 &&
	       (st.st_dev == f->dev ||
		mount__is_of_admin("/proc/self/mountinfo", major(st.st_dev), minor(st.st_dev)));
}

/*
 * Returns a handle of a path in the file's folder, or -errno. The folder's owner may put links
 * there, and the path may mean something else in this mount namespace. Neither may lead to another
 * file system, which may not answer. So the folder is looked up in memory, or on the file's own
 * mount.
 */
static int debug_file__handle_beside(const struct elf_file *f, const char *path)
{
	char folder[PATH_MAX];
	size_t sz = (size_t)(strrchr(f->path, '/') - f->path) + 1;
	int dir, handle = -EXDEV;

	memcpy(folder, path, sz);
	folder[sz] = '\0';
	dir = handle__open_cached(folder);
	if (dir == -EAGAIN)
		dir = mount__folder_of(f->fd, folder);
	if (dir < 0)
		return dir;
	if (debug_file__may_wait_for(dir, f))
		handle = handle__resolve(dir, path + sz,
					 RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
	close(dir);
	return handle;
}

/* Like debug_file__find(). Sets the path if it returns a descriptor. */
static int debugfile_find_candidate(const struct elf_file *f, const char *dir,
				    const struct debug_query *q, char path[static PATH_MAX])
{
	bool has_path = q->place == DEBUG_BY_BUILD_ID ? debugfile_find_path(f, dir, path)
						      : debugfile_link_path(f, dir, q, path);
	bool beside = q->place == DEBUG_BESIDE || q->place == DEBUG_IN_FOLDER;
	int fd = -1;

	if (has_path)
		fd = debugfile_open_regular(beside ? debug_file__handle_beside(f, path)
						   : handle__open(path));
	if (fd >= 0 && debugfile_trusts(f, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

int debug_file__find(const struct elf_file *f, const char *dir, const struct debug_query *q)
{
	char path[PATH_MAX];

	return debugfile_find_candidate(f, dir, q, path);
}

int debug_file__find_wanted(const void *query, size_t sz, void *file)
{
	const struct debug_query *q = query;

	if (sz != sizeof(*q) || q->place >= DEBUG_PLACE_CNT ||
	    strnlen(q->name, sizeof(q->name)) == sizeof(q->name))
		return -EINVAL;
	return debug_file__find(file, DEBUG_DIR, q);
}

/* Returns the file at that place if it is the right one, else NULL. */
static struct elf_file *debugfile_open_matching(const struct elf_file *f, const char *dir,
						const struct debug_query *q, const uint32_t *crc)
{
	const struct debug_opener *opener = f->debug_opener;
	char path[PATH_MAX] = "";
	int fd = opener ? opener->open(q, opener->arg) : debugfile_find_candidate(f, dir, q, path);
	struct elf_file *debug = fd < 0 ? NULL : elf_file__new(fd, path);

	if (debug && debugfile_is_wanted(f, debug, crc)) {
		debug->trusted |= f->trusted; /* its owner has been checked */
		return debug;
	}
	elf_file__put(debug);
	return NULL;
}

bool debug_file__is_absent(const struct elf_file *f, const char *dir)
{
	char path[PATH_MAX];
	int fd = debugfile_find_path(f, dir, path) ? handle__open_cached(path) : -ENOENT;

	if (fd >= 0)
		close(fd);
	return fd == -ENOENT;
}

/*
 * Reads .gnu_debuglink: the name, and the CRC, which follows it at the next multiple of 4. Returns
 * false if there is none. libdwelf would read as many bytes into memory as the file declares.
 */
static bool debugfile_read_debuglink(const struct elf_file *f, struct debug_query *q, uint32_t *crc)
{
	GElf_Shdr shdr;
	bool found = section__named(f, ".gnu_debuglink", &shdr) && shdr.sh_size <= LINK_MAX;
	size_t sz = 0;
	char *name = found ? (char *)section__read(f, &shdr, &sz) : NULL;
	size_t end = name ? (strlen(name) + 1 + 3) & -(size_t)4 : 0;
	bool ok = name && end + sizeof(*crc) <= sz && str__copy(q->name, sizeof(q->name), name);

	if (ok)
		memcpy(crc, name + end, sizeof(*crc));
	free(name);
	return ok;
}

static struct elf_file *debugfile_find_by_debuglink(const struct elf_file *f, const char *dir)
{
	struct elf_file *debug = NULL;
	struct debug_query q = { 0 };
	uint32_t crc;

	if (!debugfile_read_debuglink(f, &q, &crc))
		return NULL;
	for (q.place = DEBUG_BESIDE; q.place < DEBUG_PLACE_CNT && !debug; q.place++)
		debug = debugfile_open_matching(f, dir, &q, &crc);
	return debug;
}

struct elf_file *debug_file__open(const struct elf_file *f, const char *dir)
{
	const struct debug_query by_id = { .place = DEBUG_BY_BUILD_ID };
	struct elf_file *debug = NULL;

	if (f->fd >= 0 && f->build_id.sz)
		debug = debugfile_open_matching(f, dir, &by_id, NULL);
	if (f->fd >= 0 && !debug)
		debug = debugfile_find_by_debuglink(f, dir);
	if (!debug)
		errno = ENOENT;
	return debug;
}

/* Decodes until `room` more bytes are written or the input ends. */
static lzma_ret debugfile_decode(lzma_stream *s, struct buf *out, size_t room)
{
	uint8_t *at = buf__extend(out, room);
	lzma_ret ret;

	if (!at)
		return LZMA_MEM_ERROR;
	s->next_out = at;
	s->avail_out = room;
	ret = lzma_code(s, LZMA_FINISH);
	out->sz -= s->avail_out;
	return ret;
}

static int debugfile_unpack(const void *xz, size_t sz, struct buf *out)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&s, LZMA_MAX, 0);

	s.next_in = xz;
	s.avail_in = sz;
	while (ret == LZMA_OK && out->sz < UNPACK_MAX)
		ret = debugfile_decode(&s, out, out->sz ? out->sz : 65536);
	lzma_end(&s);
	return ret == LZMA_STREAM_END ? 0 : -EINVAL;
}

struct elf_file *debug_data__open(const struct elf_file *f)
{
	GElf_Shdr shdr;
	bool found = section__named(f, ".gnu_debugdata", &shdr);
	size_t sz;
	uint8_t *xz = found ? section__read(f, &shdr, &sz) : NULL;
	struct buf image = { 0 };
	struct elf_file *debug;

	if (!xz)
		return errno = ENOENT, NULL;
	if (debugfile_unpack(xz, sz, &image) != 0)
		buf__free(&image);
	free(xz);
	debug = elf_file__from_memory(image.data, image.sz, f->path);
	if (debug)
		debug->trusted = f->trusted; /* the image is part of the file */
	return debug;
}
