// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/jsonbuf.h"

#define PIECE_SZ (256u << 10)

struct tracefile {
	gzFile gz;
	struct buf out; /* not yet written */
	bool first;	/* nothing has been written into the open list yet */
	int err;
};

static void flush(struct tracefile *t)
{
	if (buf__err(&t->out))
		t->err = -ENOMEM;
	for (size_t at = 0; !t->err && at < t->out.sz;) {
		size_t left = t->out.sz - at;
		unsigned part = left > PIECE_SZ ? PIECE_SZ : (unsigned)left;

		errno = 0;
		if (gzwrite(t->gz, t->out.data + at, part) != (int)part)
			t->err = errno ? -errno : -EIO;
		at += part;
	}
	buf__reset(&t->out);
}

struct tracefile *tracefile__open(const char *path, bool gz)
{
	struct tracefile *t = calloc(1, sizeof(*t));
	int fd = t ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		free(t);
		return NULL;
	}
	t->gz = gzdopen(fd, gz ? "wb" : "wbT"); /* T: nothing is compressed */
	if (!t->gz) {
		close(fd);
		free(t);
		errno = ENOMEM;
		return NULL;
	}
	t->first = true;
	/* only how a viewer shows times; they are microseconds in any case */
	buf__str(&t->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	return t;
}

struct buf *tracefile__begin(struct tracefile *t)
{
	buf__str(&t->out, t->first ? "{" : ",\n{");
	t->first = false;
	return &t->out;
}

void tracefile__end(struct tracefile *t)
{
	buf__str(&t->out, "}");
	if (t->out.sz >= PIECE_SZ)
		flush(t);
}

static void write_text(struct buf *out, const char *key, const char *text)
{
	buf__str(out, key);
	jsonbuf__str(out, text, strlen(text));
}

static void write_node(const struct stacktree_node *node, void *arg)
{
	struct tracefile *t = arg;

	buf__str(&t->out, t->first ? "\"" : ",\n\"");
	t->first = false;
	jsonbuf__int(&t->out, node->id);
	write_text(&t->out, "\":{\"name\":", node->name);
	if (*node->module)
		write_text(&t->out, ",\"category\":", node->module);
	if (node->parent) {
		buf__str(&t->out, ",\"parent\":\"");
		jsonbuf__int(&t->out, node->parent);
		buf__str(&t->out, "\"");
	}
	tracefile__end(t);
}

int tracefile__close(struct tracefile *t, const struct stacktree *stacks, const char *const *other)
{
	int err;

	buf__str(&t->out, "\n],\"stackFrames\":{");
	t->first = true;
	stacktree__each(stacks, write_node, t);
	buf__str(&t->out, "},\n\"otherData\":{");
	for (size_t i = 0; other[i]; i += 2) {
		buf__str(&t->out, i ? "," : "");
		jsonbuf__str(&t->out, other[i], strlen(other[i]));
		write_text(&t->out, ":", other[i + 1]);
	}
	buf__str(&t->out, "}}\n");
	flush(t);
	errno = 0;
	if (gzclose(t->gz) != Z_OK && !t->err)
		t->err = errno ? -errno : -EIO;
	err = t->err;
	buf__free(&t->out);
	free(t);
	return err;
}
