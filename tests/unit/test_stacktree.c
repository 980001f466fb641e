// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of frames: callers are parents; the common part of stacks exists once. */
#include "lib/test.h"

#include <string.h>

#include "stacksexport/trace/stacktree.h"

static void frame(struct stacktree *t, const char *name, const char *module)
{
	struct named_frame f = { .name = { name, strlen(name) },
				 .module = { module, strlen(module) },
				 .address = 0x1000,
				 .offset = 0x34 };

	stacktree__frame(t, &f);
}

/* "name<parent name " for each node, in order. */
static void note(const struct stacktree_node *node, void *arg)
{
	static const char *names[16];
	char *text = arg;

	names[node->id] = node->name;
	assert_true(node->parent < node->id);
	strcat(strcat(text, node->name), "<");
	strcat(strcat(text, node->parent ? names[node->parent] : ""), " ");
}

static void stacks_share_their_callers(void **state)
{
	struct binaries *binaries = binaries__new(NULL);
	struct stacktree *t = stacktree__new(binaries);
	struct stacktree_stack a, b;
	char nodes[256] = "";

	(void)state;
	frame(t, "leaf\"", "/lib/libc.so.6");
	frame(t, "main", "/bin/prog");
	stacktree__stack(t, 7);
	frame(t, "", "/lib/libc.so.6");
	frame(t, "main", "/bin/prog");
	frame(t, "main", "/bin/prog");
	stacktree__stack(t, UINT64_MAX);
	frame(t, "other", "x");
	stacktree__stack(t, 7); /* already known */
	stacktree__stack(t, 9); /* without frames */
	assert_int_equal(stacktree__err(t), 0);
	assert_int_equal(stacktree__stack_cnt(t), 2);
	assert_true(stacktree__find(t, 7, &a) && stacktree__find(t, UINT64_MAX, &b));
	assert_false(stacktree__find(t, 9, &a) || stacktree__find(t, 8, &a));
	assert_true(stacktree__find(t, 7, &a));
	assert_memory_equal(a.names, "[\"leaf\\\"\",\"main\"]", a.names_sz);
	assert_memory_equal(b.names, "[\"libc.so.6+0x1034\",\"main\",\"main\"]", b.names_sz);
	stacktree__each(t, note, nodes);
	assert_string_equal(nodes, "main< leaf\"<main main<main libc.so.6+0x1034<main ");
	assert_true(a.leaf == 2 && b.leaf == 4);
	stacktree__free(t);
	binaries__free(binaries);
}

RUN_TESTS(cmocka_unit_test(stacks_share_their_callers))
