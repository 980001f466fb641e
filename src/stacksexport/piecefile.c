// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/piecefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct piecefile {
	gzFile gz;
	struct buf out; /* not yet written */
	int err;
};

static void piecefile_write_pieces(struct piecefile *f)
{
	if (buf__err(&f->out))
		f->err = -ENOMEM;
	for (size_t at = 0; !f->err && at < f->out.sz;) {
		size_t left = f->out.sz - at;
		unsigned part = left > PIECEFILE_PIECE_SZ ? PIECEFILE_PIECE_SZ : (unsigned)left;

		errno = 0;
		if (gzwrite(f->gz, f->out.data + at, part) != (int)part)
			f->err = errno ? -errno : -EIO;
		at += part;
	}
	buf__reset(&f->out);
}

struct piecefile *piecefile__open(const char *path, bool gz)
{
	struct piecefile *f = calloc(1, sizeof(*f));
	int fd = f ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		free(f);
		return NULL;
	}
	f->gz = gzdopen(fd, gz ? "wb" : "wbT"); /* T: nothing is compressed */
	if (f->gz)
		return f;
	close(fd);
	free(f);
	errno = ENOMEM;
	return NULL;
}

struct buf *piecefile__out(struct piecefile *f)
{
	return &f->out;
}

void piecefile__flush(struct piecefile *f)
{
	if (f->out.sz >= PIECEFILE_PIECE_SZ)
		piecefile_write_pieces(f);
}

int piecefile__close(struct piecefile *f)
{
	int err;

	piecefile_write_pieces(f);
	errno = 0;
	if (gzclose(f->gz) != Z_OK && !f->err)
		f->err = errno ? -errno : -EIO;
	err = f->err;
	buf__free(&f->out);
	free(f);
	return err;
}

bool piecefile__is_gz(const char *name)
{
	size_t sz = strlen(name);

	return sz >= 3 && strcmp(name + sz - 3, ".gz") == 0;
}
