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
#include "elf/section.h"

#define CRC_MAX	   (2LL << 30)	  /* bytes read for a CRC */
#define LINK_MAX   (NAME_MAX + 8) /* bytes of a section that names the debug file */
#define UNPACK_MAX (64U << 20)
#define LZMA_MAX   (128U << 20) /* bytes that the decoder may allocate */

/* Checks the file type before opening: opening a device can have effects. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = -1, handle = open(path, O_PATH | O_CLOEXEC);

	if (handle < 0)
		return -1;
	if (fstat(handle, &st) == 0 && S_ISREG(st.st_mode))
		fd = handle__reopen(handle, NULL);
	close(handle);
	return fd;
}

static bool same_owner(const struct elf_file *a, const struct elf_file *b)
{
	struct stat sta, stb;

	return fstat(a->fd, &sta) == 0 && fstat(b->fd, &stb) == 0 && sta.st_uid == stb.st_uid;
}

static bool has_crc(int fd, uint32_t want)
{
	unsigned char bytes[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t off = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), off)) > 0 && (off += n) < CRC_MAX)
		crc = crc32(crc, bytes, (uInt)n);
	return n == 0 && crc == want;
}

static bool is_wanted(const struct elf_file *f, const struct elf_file *debug, const uint32_t *crc)
{
	if (!debug->trusted && (f->trusted || !same_owner(f, debug)))
		return false;
	return f->build_id.sz ? build_id__equal(&f->build_id, &debug->build_id)
			      : crc && has_crc(debug->fd, *crc);
}

/* Returns the file at `path` if it is the right one, else NULL. */
static struct elf_file *open_matching(const struct elf_file *f, const char *path,
				      const uint32_t *crc)
{
	int fd = open_regular(path);
	struct elf_file *debug = fd < 0 ? NULL : elf_file__new(fd, path);

	if (debug && is_wanted(f, debug, crc))
		return debug;
	elf_file__put(debug);
	return NULL;
}

/* Returns false if the file has no build ID, or if the path is too long. */
static bool find_path(const struct elf_file *f, const char *dir, char path[static PATH_MAX])
{
	char hex[2 * BUILD_ID_MAX + 1];

	if (f->build_id.sz < 2)
		return false;
	for (size_t i = 0; i < f->build_id.sz; i++)
		snprintf(hex + 2 * i, 3, "%02x", f->build_id.bytes[i]);
	return snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2) < PATH_MAX;
}

static struct elf_file *by_build_id(const struct elf_file *f, const char *dir)
{
	char path[PATH_MAX];

	return find_path(f, dir, path) ? open_matching(f, path, NULL) : NULL;
}

bool debug_file__is_absent(const struct elf_file *f, const char *dir)
{
	char path[PATH_MAX];
	int fd =
		find_path(f, dir, path) ? handle__resolve(AT_FDCWD, path, RESOLVE_CACHED) : -ENOENT;

	if (fd >= 0)
		close(fd);
	return fd == -ENOENT;
}

/*
 * Reads .gnu_debuglink: returns the name, for the caller to free, and sets `*crc`, which follows it
 * at the next multiple of 4. Returns NULL if there is none. libdwelf would read as many bytes into
 * memory as the file declares.
 */
static char *read_debuglink(const struct elf_file *f, uint32_t *crc)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_file__section(f, ".gnu_debuglink", &shdr);
	size_t sz, end;
	char *name;

	if (!scn || shdr.sh_size > LINK_MAX)
		return NULL;
	name = (char *)section__read(f, scn, &sz);
	if (!name)
		return NULL;
	end = (strlen(name) + 1 + 3) & -(size_t)4;
	if (end + sizeof(*crc) > sz) {
		free(name);
		return NULL;
	}
	memcpy(crc, name + end, sizeof(*crc));
	return name;
}

static struct elf_file *by_debuglink(const struct elf_file *f, const char *dir)
{
	/* prefix of the file's folder, and folder between it and the name */
	const char *places[][2] = { { "", "" }, { "", ".debug/" }, { dir, "" } };
	const char *slash = strrchr(f->path, '/');
	struct elf_file *debug = NULL;
	char path[PATH_MAX], *name;
	bool usable;
	uint32_t crc;

	name = read_debuglink(f, &crc);
	usable = name && slash && name[0] != '\0' && !strchr(name, '/');
	for (size_t i = 0; usable && i < sizeof(places) / sizeof(*places) && !debug; i++) {
		int n = snprintf(path, sizeof(path), "%s%.*s/%s%s", places[i][0],
				 (int)(slash - f->path), f->path, places[i][1], name);

		if (n > 0 && n < (int)sizeof(path) && strcmp(path, f->path) != 0)
			debug = open_matching(f, path, &crc);
	}
	free(name);
	return debug;
}

struct elf_file *debug_file__open(const struct elf_file *f, const char *dir)
{
	struct elf_file *debug = NULL;

	if (f->fd >= 0)
		debug = by_build_id(f, dir);
	if (f->fd >= 0 && !debug)
		debug = by_debuglink(f, dir);
	if (!debug)
		errno = ENOENT;
	return debug;
}

/* Decodes until `room` more bytes are written or the input ends. */
static lzma_ret decode(lzma_stream *s, struct buf *out, size_t room)
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

static int unpack(const void *xz, size_t sz, struct buf *out)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&s, LZMA_MAX, 0);

	s.next_in = xz;
	s.avail_in = sz;
	while (ret == LZMA_OK && out->sz < UNPACK_MAX)
		ret = decode(&s, out, out->sz ? out->sz : 65536);
	lzma_end(&s);
	return ret == LZMA_STREAM_END ? 0 : -EINVAL;
}

struct elf_file *debug_data__open(const struct elf_file *f)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = elf_file__section(f, ".gnu_debugdata", &shdr);
	size_t sz;
	uint8_t *xz = scn ? section__read(f, scn, &sz) : NULL;
	struct buf image = { 0 };
	struct elf_file *debug;

	if (!xz)
		return errno = ENOENT, NULL;
	if (unpack(xz, sz, &image) != 0)
		buf__free(&image);
	free(xz);
	debug = elf_file__from_memory(image.data, image.sz, f->path);
	if (debug)
		debug->trusted = f->trusted; /* the image is part of the file */
	return debug;
}
