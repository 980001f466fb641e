/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A HotSpot VM in a file, with three pieces of code, and a stack: for the tests of
 * src/runtime/hotspot*.c. */
#ifndef HOTSPOT_SCENE_H
#define HOTSPOT_SCENE_H

#include <string.h>

#include "lib/coderig.h"
#include "lib/fakejvm.h"

#define RUN_CODE (JVM_NMETHOD + JVM_BEGIN)

static int read_code(const struct rig *r, uint64_t pc, struct code_blob *b)
{
	return rig__read(r, &(struct code_wanted){ .pc = pc }, b);
}

/* The nmethod, the stub and the interpreter. */
static int setup(void **state)
{
	static const struct rig_parts parts = { .memory = jvm__new,
						.layout = jvm__layout,
						.wanted = {
							{ .pc = JVM_NMETHOD + JVM_BEGIN + 0x40 },
							{ .pc = JVM_STUB + JVM_BEGIN + 0x40 },
							{ .pc = JVM_INTERP + JVM_BEGIN + 0x40 },
						} };

	return rig__new(state, &parts);
}

static void forget(struct code_blob *b)
{
	for (size_t i = 0; i < b->script_cnt; i++)
		script__free(&b->scripts[i]);
	free(b->scripts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, rig__free)

#endif
