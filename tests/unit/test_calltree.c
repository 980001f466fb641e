// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of distinct stacks: what they share is there once, and sums stay in their range. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "stacksexport/model/calltree.h"

struct scene {
	struct binaries *binaries;
	struct stackset *stacks;
	struct calltree *tree;
};

static void frame(struct scene *s, const char *name, const char *module, uint64_t place)
{
	struct named_frame f = { .name = { name, name ? strlen(name) : 0 },
				 .module = { module, strlen(module) },
				 .address = place & ~0xffull,
				 .offset = place & 0xff };

	stackset__frame(s->stacks, &f);
}

static struct scene scene__new(const struct calltree_options *o)
{
	struct scene s = { .binaries = binaries__new(NULL) };

	s.stacks = stackset__new(s.binaries);
	frame(&s, "leaf", "/bin/prog", 0x1010);
	frame(&s, "rec", "/bin/prog", 0x2010);
	frame(&s, "rec", "/bin/prog", 0x2020);
	frame(&s, "main", "/bin/prog", 0x3010);
	stackset__stack(s.stacks, 7);
	frame(&s, "copy", "[kernel]", 0x9010);
	frame(&s, "entry", "[kernel]", 0x9110);
	stackset__stack(s.stacks, 8);
	frame(&s, "schedule", "[kernel]", 0x9210);
	frame(&s, "__syscall_cancel", "/lib/libc.so.6", 0x4010);
	frame(&s, NULL, "/lib/libc.so.6", 0x4110);
	frame(&s, "read", "/lib/libc.so.6", 0x4210);
	frame(&s, "main", "/bin/prog", 0x3020);
	stackset__stack(s.stacks, UINT64_MAX);
	s.tree = calltree__new(s.stacks, o);
	return s;
}

static void scene__free(struct scene *s)
{
	calltree__free(s->tree);
	stackset__free(s->stacks);
	binaries__free(s->binaries);
}

/* "main;rec;leaf" of a node. */
static const char *path(const struct scene *s, uint32_t node, char *out)
{
	const struct trie *trie = calltree__trie(s->tree);
	const struct function *f;

	if (node == TRIE_ROOT)
		return *out = '\0', out;
	path(s, trie__parent(trie, node), out);
	f = stackset__function(s->stacks, trie__function(trie, node));
	return strcat(strcat(out, *out ? ";" : ""), stackset__text(s->stacks, f->name).s);
}

static uint32_t leaf(struct scene *s, uint64_t ustack, uint64_t kstack, enum tree_shape shape)
{
	struct tree_stack stack = { ustack, kstack, shape };

	return calltree__leaf(s->tree, &stack);
}

static void joins_kernel_frames_to_user_frames(void **state)
{
	struct scene s = scene__new(&(struct calltree_options){ 0 });
	char text[256];
	uint32_t user, both, cnt;

	(void)state;
	assert_int_equal(stackset__cnt(s.stacks), 3);
	user = leaf(&s, 7, 0, SHAPE_FULL);
	both = leaf(&s, 7, 8, SHAPE_FULL);
	assert_string_equal(path(&s, user, text), "main;rec;rec;leaf");
	assert_string_equal(path(&s, both, text), "main;rec;rec;leaf;entry;copy");
	assert_string_equal(path(&s, leaf(&s, 0, 8, SHAPE_FULL), text), "entry;copy");
	assert_string_equal(path(&s, leaf(&s, 0, 0, SHAPE_FULL), text), "[no stack]");
	assert_string_equal(path(&s, leaf(&s, 99, 0, SHAPE_FULL), text), "[no stack]");
	cnt = trie__cnt(calltree__trie(s.tree));
	assert_int_equal(leaf(&s, 7, 8, SHAPE_FULL), both);
	assert_int_equal(trie__cnt(calltree__trie(s.tree)), cnt);
	assert_int_equal(stackset__err(s.stacks), 0);
	scene__free(&s);
}

static void names_the_function_that_waits(void **state)
{
	struct scene s = scene__new(&(struct calltree_options){ 0 });
	char text[256];

	(void)state;
	assert_string_equal(path(&s, leaf(&s, UINT64_MAX, 8, SHAPE_WAITING), text), "main");
	assert_string_equal(path(&s, leaf(&s, 0, 8, SHAPE_WAITING), text), "entry;copy");
	assert_string_equal(path(&s, leaf(&s, UINT64_MAX, 0, SHAPE_FULL), text),
			    "main;read;[no symbol];__syscall_cancel;schedule");
	scene__free(&s);
}

static void hides_and_merges_frames(void **state)
{
	struct scene hidden = scene__new(&(struct calltree_options){ .hide = HIDE_KERNEL });
	struct scene merged = scene__new(&(struct calltree_options){ .merge = MERGE_MODULE });
	struct scene lines = scene__new(&(struct calltree_options){ .merge = MERGE_LINE });
	char text[256];

	(void)state;
	assert_string_equal(path(&hidden, leaf(&hidden, 7, 8, SHAPE_FULL), text),
			    "main;rec;rec;leaf");
	assert_string_equal(path(&merged, leaf(&merged, 7, 8, SHAPE_FULL), text), "prog;[kernel]");
	assert_string_equal(path(&lines, leaf(&lines, 7, 8, SHAPE_FULL), text),
			    "main;rec;rec;leaf;entry;copy"); /* no file, no lines */
	scene__free(&hidden);
	scene__free(&merged);
	scene__free(&lines);
}

static void finds_recursive_functions(void **state)
{
	struct scene s = scene__new(&(struct calltree_options){ 0 });
	uint32_t node = leaf(&s, 7, 0, SHAPE_FULL);
	const struct trie *trie = calltree__trie(s.tree);
	const bool *recursive = calltree__recursive(s.tree);

	(void)state;
	assert_false(recursive[node]);
	assert_true(recursive[trie__parent(trie, node)]);
	assert_false(recursive[trie__parent(trie, trie__parent(trie, node))]);
	scene__free(&s);
}

static void sums_stay_in_their_range(void **state)
{
	struct scene s = scene__new(&(struct calltree_options){ 0 });
	struct tree_weights w = { 0 };
	uint32_t a = leaf(&s, 7, 0, SHAPE_FULL), b = leaf(&s, 7, 8, SHAPE_FULL);
	const struct trie *trie = calltree__trie(s.tree);
	int64_t *total;

	(void)state;
	assert_int_equal(tree_weights__add(&w, a, INT64_MAX), 0);
	assert_int_equal(tree_weights__add(&w, a, 1), 0);
	assert_int_equal(tree_weights__add(&w, b, 5), 0);
	assert_int_equal(tree_weights__fit(&w, trie), 0);
	total = calloc(trie__cnt(trie), sizeof(*total));
	trie__sum(trie, w.values, total);
	assert_true(w.values[a] == INT64_MAX && total[b] == 5 && total[TRIE_ROOT] == INT64_MAX);
	assert_true(trie__add(INT64_MIN, -1) == INT64_MIN && trie__add(INT64_MIN, 1) < 0);
	free(total);
	tree_weights__free(&w);
	scene__free(&s);
}

static void tells_kinds_of_code_by_module(void **state)
{
	static const struct {
		const char *module;
		enum frame_kind kind;
	} cases[] = {
		{ "/usr/bin/prog", FRAME_USER },
		{ "[kernel]", FRAME_KERNEL },
		{ "[ext4]", FRAME_KERNEL },
		{ "[vdso]", FRAME_USER },
		{ "[jit]", FRAME_JIT },
		{ "[python]", FRAME_USER },
		{ "/usr/bin/python3.11", FRAME_INTERPRETER },
		{ "/srv/python_app.py", FRAME_USER },
		{ "/usr/lib/libpython3.13.so.1.0", FRAME_INTERPRETER },
	};
	struct scene s = scene__new(&(struct calltree_options){ 0 });

	(void)state;
	for (uint64_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct function *f;
		size_t cnt;

		frame(&s, "f", cases[i].module, 0x100 * i);
		stackset__stack(s.stacks, 100 + i);
		f = stackset__function(
			s.stacks,
			stackset__frame_at(s.stacks, *stackset__find(s.stacks, 100 + i, &cnt))
				->function);
		assert_int_equal(f->kind, cases[i].kind);
	}
	scene__free(&s);
}

static void finds_each_of_many_keys(void **state)
{
	struct keymap m = { 0 };
	bool is_new;

	(void)state;
	assert_int_equal(keymap__find(&m, 0, 0), KEYMAP_NONE);
	for (uint64_t i = 0; i < 10000; i++) {
		assert_int_equal(keymap__add(&m, i, i / 2, &is_new), i);
		assert_true(is_new);
	}
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(keymap__find(&m, i, i / 2), i);
	assert_int_equal(keymap__add(&m, 5, 2, &is_new), 5);
	assert_false(is_new);
	assert_int_equal(keymap__find(&m, 5, 3), KEYMAP_NONE);
	keymap__free(&m);
}

RUN_TESTS(cmocka_unit_test(joins_kernel_frames_to_user_frames),
	  cmocka_unit_test(names_the_function_that_waits),
	  cmocka_unit_test(hides_and_merges_frames), cmocka_unit_test(finds_recursive_functions),
	  cmocka_unit_test(sums_stay_in_their_range),
	  cmocka_unit_test(tells_kinds_of_code_by_module),
	  cmocka_unit_test(finds_each_of_many_keys))
