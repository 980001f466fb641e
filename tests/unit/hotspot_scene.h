/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A HotSpot VM in a file, with three pieces of code, and a stack: for the tests of
 * src/runtime/hotspot*.c. */
#ifndef HOTSPOT_SCENE_H
#define HOTSPOT_SCENE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fakejvm.h"

#define STACK	 0x7000 /* address of the snapshot */
#define WORDS	 512
#define RUN_CODE (JVM_NMETHOD + JVM_BEGIN)

struct rig {
	int fd;
	struct runtime_layout layout;
	struct code_blob *blobs[3]; /* of the nmethod, the stub and the interpreter */
	uint64_t stack[WORDS], regs[EVENT_REG_CNT];
};

static int read_code(const struct rig *r, uint64_t pc, struct code_blob *b)
{
	struct remote remote = { .mem = r->fd, .left = 8 << 20 };
	const struct code_wanted w = { .pc = pc };

	*b = (struct code_blob){ 0 };
	return hotspot__read_code(&remote, &r->layout, &w, b);
}

static int setup(void **state)
{
	static const uint64_t at[] = { JVM_NMETHOD, JVM_STUB, JVM_INTERP };
	struct rig *r = calloc(1, sizeof(*r));

	r->fd = jvm__new();
	if (r->fd < 0 || jvm__layout(r->fd, &r->layout) != 0)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		r->blobs[i] = calloc(1, sizeof(struct code_blob));
		if (read_code(r, at[i] + JVM_BEGIN + 0x40, r->blobs[i]) != 0)
			return -1;
	}
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (size_t i = 0; i < 3; i++)
		code_blob__free(r->blobs[i]);
	close(r->fd);
	free(r);
	return 0;
}

static void forget(struct code_blob *b)
{
	for (size_t i = 0; i < b->script_cnt; i++)
		script__free(&b->scripts[i]);
	free(b->scripts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
