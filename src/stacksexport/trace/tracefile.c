// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/trace/tracefile.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonbuf.h"
#include "stacksexport/piecefile.h"

struct tracefile {
	struct piecefile *file;
	struct buf *out; /* not yet written */
	bool first;	 /* nothing has been written into the open list yet */
};

struct tracefile *tracefile__open(const char *path, bool gz)
{
	struct tracefile *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->file = piecefile__open(path, gz);
	if (!t->file) {
		free(t);
		return NULL;
	}
	t->out = piecefile__out(t->file);
	t->first = true;
	/* only how a viewer shows times; they are microseconds in any case */
	buf__str(t->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	return t;
}

struct buf *tracefile__begin(struct tracefile *t)
{
	buf__str(t->out, t->first ? "{" : ",\n{");
	t->first = false;
	return t->out;
}

void tracefile__end(struct tracefile *t)
{
	buf__str(t->out, "}");
	piecefile__flush(t->file);
}

static void tracefile_write_text(struct buf *out, const char *key, const char *text)
{
	buf__str(out, key);
	jsonbuf__str(out, text, strlen(text));
}

static void tracefile_write_node(const struct stacktree_node *node, void *arg)
{
	struct tracefile *t = arg;

	buf__str(t->out, t->first ? "\"" : ",\n\"");
	t->first = false;
	jsonbuf__int(t->out, node->id);
	tracefile_write_text(t->out, "\":{\"name\":", node->name);
	if (*node->module)
		tracefile_write_text(t->out, ",\"category\":", node->module);
	if (node->parent) {
		buf__str(t->out, ",\"parent\":\"");
		jsonbuf__int(t->out, node->parent);
		buf__str(t->out, "\"");
	}
	tracefile__end(t);
}

int tracefile__close(struct tracefile *t, const struct stacktree *stacks, const char *const *other)
{
	int err;

	buf__str(t->out, "\n],\"stackFrames\":{");
	t->first = true;
	stacktree__each(stacks, tracefile_write_node, t);
	buf__str(t->out, "},\n\"otherData\":{");
	for (size_t i = 0; other[i]; i += 2) {
		buf__str(t->out, i ? "," : "");
		jsonbuf__str(t->out, other[i], strlen(other[i]));
		tracefile_write_text(t->out, ":", other[i + 1]);
	}
	buf__str(t->out, "}}\n");
	err = piecefile__close(t->file);
	free(t);
	return err;
}
