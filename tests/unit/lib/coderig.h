/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A runtime that compiles, with its memory in a file and three pieces of its code, and a stack. */
#ifndef CODERIG_H
#define CODERIG_H

#include <stdlib.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define STACK	  0x7000 /* address of the snapshot */
#define WORDS	  512
#define RIG_BLOBS 3

struct rig {
	int fd;
	struct runtime_layout layout;
	struct code_blob *blobs[RIG_BLOBS];
	uint64_t stack[WORDS], regs[EVENT_REG_CNT];
};

/* What rig__new() makes it of. */
struct rig_parts {
	int (*memory)(void); /* returns the file */
	int (*layout)(int fd, struct runtime_layout *);
	struct code_wanted wanted[RIG_BLOBS];
};

static inline int rig__read(const struct rig *r, const struct code_wanted *w, struct code_blob *b)
{
	struct remote remote = { .mem = r->fd, .left = 8 << 20 };

	*b = (struct code_blob){ 0 };
	return r->layout.runtime->code->read(&remote, &r->layout, w, b);
}

static inline int rig__new(void **state, const struct rig_parts *parts)
{
	struct rig *r = calloc(1, sizeof(*r));

	*state = r;
	r->fd = parts->memory();
	if (r->fd < 0 || parts->layout(r->fd, &r->layout) != 0)
		return -1;
	for (size_t i = 0; i < RIG_BLOBS; i++) {
		r->blobs[i] = calloc(1, sizeof(struct code_blob));
		if (rig__read(r, &parts->wanted[i], r->blobs[i]) != 0)
			return -1;
	}
	return 0;
}

static inline int rig__free(void **state)
{
	struct rig *r = *state;

	for (size_t i = 0; i < RIG_BLOBS; i++)
		code_blob__free(r->blobs[i]);
	close(r->fd);
	free(r);
	return 0;
}

#endif
