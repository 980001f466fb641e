// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/handle.h"
#include "base/utf8.h"
#include "elf/addresstask.h"
#include "process/maps.h"

#define SYMBOLS_MAX (32u << 20) /* bytes of symbols that are looked through in one go */
#define READ_MAX    (4u << 20)	/* bytes of the process's memory */

const struct runtime *const runtimes_table[] = { &cpython, &hotspot, &v8, &ruby, &php, NULL };

bool runtime__is_c_library(const char *file)
{
	return strncmp(file, "libc.", 5) == 0 || strncmp(file, "libc-", 5) == 0 ||
	       strncmp(file, "libpthread", 10) == 0 || strncmp(file, "ld-musl", 7) == 0;
}

int runtime__locate(struct remote *r, const uint64_t *symbols, struct runtime_layout *l,
		    struct capture_runtime *c)
{
	if (l->runtime->locate)
		return l->runtime->locate(r, symbols, l, c);
#ifdef __x86_64__
	l->cookie_off = RUNTIME_NO_COOKIE;
	l->code_mask = UINT64_MAX;
	return l->runtime->code->layout(r, symbols, l);
#else
	return -ENOTSUP;
#endif
}

struct locate_search {
	int proc;
	uint32_t tgid, wanted;
	struct symbol_search files;
	uint64_t ino, base; /* of the last file that was looked into; where it is mapped first */
	uint64_t symbols[RUNTIME_SYMBOLS];
	struct located *out;
};

int locate__open(int proc, uint32_t tgid, const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%u/%s", tgid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens a plain file that the process has mapped. Returns NULL if it is none, or no ELF file. */
static struct elf_file *locate_open_mapped(const struct locate_search *s,
					   const struct record_mmap *m)
{
	char path[96];
	struct stat st;
	int handle, fd = -1;
	struct elf_file *f;

	snprintf(path, sizeof(path), "%u/map_files/%llx-%llx", s->tgid,
		 (unsigned long long)m->start, (unsigned long long)(m->start + m->len));
	handle = openat(s->proc, path, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return NULL;
	if (fstat(handle, &st) == 0 && S_ISREG(st.st_mode))
		fd = handle__reopen(handle, NULL);
	close(handle);
	f = fd < 0 ? NULL : elf_file__new(fd, m->path);
	elf_file__check_place(f, m->path);
	return f;
}

static bool locate_find_symbols(struct locate_search *s, const struct record_mmap *m,
				const struct runtime *r)
{
	struct elf_file *f = locate_open_mapped(s, m);
	uint64_t vaddr = 0;
	size_t cnt = 0;

	memset(s->symbols, 0, sizeof(s->symbols));
	while (r->symbols[cnt])
		cnt++;
	if (f && elf_file__vaddr(f, m->pgoff, &vaddr))
		address_task__find(&s->files, f, &(struct elf_symbol_names){ r->symbols, cnt },
				   s->symbols);
	for (size_t i = 0; i < cnt; i++)
		s->symbols[i] = s->symbols[i] ? m->start - vaddr + s->symbols[i] : 0;
	elf_file__put(f);
	return s->symbols[0];
}

static const char *locate_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void locate_search_mapping(const struct record_mmap *m, void *arg)
{
	struct locate_search *s = arg;
	const char *name = locate_name_of(m->path);

	if (s->out->runtime || s->files.failed || !m->ino || m->ino == s->ino)
		return;
	for (size_t i = 0; runtimes_table[i] && !s->out->runtime; i++) {
		const struct runtime *r = runtimes_table[i];

		if (!(s->wanted >> i & 1) || !r->may_have(name))
			continue;
		s->ino = m->ino;
		s->base = m->start;
		if (locate_find_symbols(s, m, r))
			s->out->runtime = r;
	}
	if (s->out->runtime)
		snprintf(s->out->file, sizeof(s->out->file), "%.63s", name);
}

static void locate_find_place(struct locate_search *s, const struct record_mmap *m,
			      const struct runtime_place *place, struct elf_symbol_code *code)
{
	struct elf_file *f;

	if (!place->symbol || code->end || s->files.failed ||
	    !place->may_have(locate_name_of(m->path)))
		return;
	f = locate_open_mapped(s, m);
	if (f)
		address_task__code(&s->files, f, place->symbol, code);
	elf_file__put(f);
}

static void locate_look_for_places(const struct record_mmap *m, void *arg)
{
	struct locate_search *s = arg;
	const struct runtime *r = s->out->runtime;

	if (!m->ino)
		return;
	locate_find_place(s, m, &r->evaluator, &s->out->layout.evaluator);
	for (size_t i = 0; i < RUNTIME_WAITS; i++)
		locate_find_place(s, m, &r->waits[i], &s->out->layout.waits[i]);
}

static void locate_read_runtime(struct locate_search *s)
{
	struct remote remote = { .mem = locate__open(s->proc, s->tgid, "mem"), .left = READ_MAX };
	struct located *l = s->out;

	l->layout.runtime = l->runtime;
	l->err = remote.mem < 0 ? remote.mem
				: runtime__locate(&remote, s->symbols, &l->layout, &l->where);
	if (l->runtime->in_file) {
		l->layout.file = s->ino;
		l->layout.heaps -= s->base;
	}
	if (l->where.place == CAPTURE_AT_ADDRESS && s->ino == l->ino) {
		l->where.place = CAPTURE_IN_EXECUTABLE;
		l->where.state_off[0] -= (int64_t)s->base;
	}
	if (!l->err && l->runtime->code && l->runtime->code->ranges)
		l->err = l->runtime->code->ranges(&remote, &l->layout, &l->ranges);
	if (remote.mem >= 0)
		close(remote.mem);
}

static int locate_read_ino(int proc, uint32_t tgid, uint64_t *ino)
{
	char path[32];
	struct stat st = { 0 };
	int handle, err;

	snprintf(path, sizeof(path), "%u/exe", tgid);
	handle = openat(proc, path, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return -errno;
	err = handle__stat(handle, "", &st);
	close(handle);
	*ino = st.st_ino;
	return err;
}

struct file_search {
	uint64_t ino, start;
};

static void locate_look_for_file(const struct record_mmap *m, void *arg)
{
	struct file_search *s = arg;

	if (m->ino == s->ino && !s->start)
		s->start = m->start;
}

uint64_t locate__file(int proc, uint32_t tgid, uint64_t ino)
{
	struct file_search s = { ino, 0 };
	int maps = locate__open(proc, tgid, "maps");

	if (maps < 0)
		return 0;
	maps__read(maps, locate_look_for_file, &s);
	close(maps);
	return s.start;
}

bool locate__process(const struct locate_wish *w, struct located *out)
{
	struct locate_search s = {
		w->proc, w->tgid, w->wanted, { w->workers, .left = SYMBOLS_MAX }, .out = out
	};
	int maps = locate__open(w->proc, w->tgid, "maps");

	*out = (struct located){ 0 };
	out->err = maps < 0 ? maps : locate_read_ino(w->proc, w->tgid, &out->ino);
	if (maps >= 0 && !out->err)
		maps__read(maps, locate_search_mapping, &s);
	if (out->runtime) {
		lseek(maps, 0, SEEK_SET);
		maps__read(maps, locate_look_for_places, &s);
		locate_read_runtime(&s);
	}
	if (maps >= 0)
		close(maps);
	return !s.files.failed;
}
