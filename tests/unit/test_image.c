// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/image.h"

static struct mapping map(struct pathtab *t, uint64_t start, uint64_t end, const char *path)
{
	return (struct mapping){ .start = start, .end = end, .path = pathtab__add(t, path) };
}

static int put(struct image **i, uint64_t start, uint64_t end, const char *path)
{
	struct mapping m = map((*i)->paths, start, end, path);

	m.pgoff = start;
	return image__insert(i, &m);
}

/* "start-end path+pgoff " of each mapping, in units of 16 bytes. */
static const char *show(const struct image *i)
{
	static char text[4096];
	size_t at = 0;

	text[0] = '\0';
	for (size_t n = 0; n < i->cnt; n++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%lx-%lx %s+%lx ",
				       i->maps[n].start, i->maps[n].end, i->maps[n].path,
				       i->maps[n].pgoff);
	return text;
}

static void overlaps_are_cut(void **state)
{
	struct pathtab *t = pathtab__new();
	struct image *i = image__new(t);

	(void)state;
	assert_int_equal(put(&i, 0x20, 0x40, "a"), 0);
	assert_int_equal(put(&i, 0x60, 0x80, "b"), 0);
	assert_int_equal(put(&i, 0x00, 0x10, "c"), 0);
	assert_string_equal(show(i), "0-10 c+0 20-40 a+20 60-80 b+60 ");
	assert_int_equal(put(&i, 0x28, 0x30, "m"), 0); /* in the middle */
	assert_string_equal(show(i), "0-10 c+0 20-28 a+20 28-30 m+28 30-40 a+30 60-80 b+60 ");
	assert_int_equal(put(&i, 0x24, 0x70, "n"), 0); /* over several */
	assert_string_equal(show(i), "0-10 c+0 20-24 a+20 24-70 n+24 70-80 b+70 ");
	assert_int_equal(put(&i, 0x70, 0x80, "d"), 0); /* exactly one */
	assert_int_equal(put(&i, 0x70, 0x90, "e"), 0); /* one and more */
	assert_string_equal(show(i), "0-10 c+0 20-24 a+20 24-70 n+24 70-90 e+70 ");
	assert_int_equal(put(&i, 0x10, 0x20, "f"), 0); /* a hole, exactly */
	assert_string_equal(show(i), "0-10 c+0 10-20 f+10 20-24 a+20 24-70 n+24 70-90 e+70 ");
	assert_int_equal(put(&i, 0, UINT64_MAX, "all"), 0);
	assert_string_equal(show(i), "0-ffffffffffffffff all+0 ");
	assert_int_equal(put(&i, 5, 5, "empty"), -EINVAL);
	image__put(i);
	pathtab__free(t);
}

static void shared_images_are_copied(void **state)
{
	struct pathtab *t = pathtab__new();
	struct image *parent = image__new(t), *child;

	(void)state;
	put(&parent, 0x10, 0x20, "a");
	child = image__get(parent);
	put(&child, 0x10, 0x20, "a"); /* nothing new */
	assert_ptr_equal(child, parent);
	put(&child, 0x18, 0x30, "b");
	assert_ptr_not_equal(child, parent);
	assert_false(image__equal(child, parent));
	assert_string_equal(show(child), "10-18 a+10 18-30 b+18 ");
	assert_string_equal(show(parent), "10-20 a+10 ");
	image__put(parent);
	assert_string_equal(show(child), "10-18 a+10 18-30 b+18 ");
	image__put(child);
	image__put(NULL);
	pathtab__free(t);
}

/* Compares with the simplest correct model: a byte per address. */
static void agrees_with_a_byte_map(void **state)
{
	struct pathtab *t = pathtab__new();
	struct image *i = image__new(t);
	char model[256] = { 0 };

	(void)state;
	srandom(1);
	for (int round = 0; round < 20000; round++) {
		uint64_t start = (uint64_t)random() % 255, end = start + 1;
		char name[2] = { (char)('a' + random() % 26), 0 };

		end += (uint64_t)random() % (256 - start);
		end = end > 256 ? 256 : end;
		assert_int_equal(put(&i, start, end, name), 0);
		memset(model + start, name[0], end - start);
		for (size_t n = 0; n < i->cnt; n++) {
			assert_true(n == 0 || i->maps[n - 1].end <= i->maps[n].start);
			assert_int_equal(i->maps[n].pgoff, i->maps[n].start);
			for (uint64_t a = i->maps[n].start; a < i->maps[n].end; a++)
				assert_int_equal(i->maps[n].path[0], model[a]);
		}
	}
	image__put(i);
	pathtab__free(t);
}

static void images_are_bounded(void **state)
{
	struct pathtab *t = pathtab__new();
	struct image *i = image__new(t);
	uint64_t a;

	(void)state;
	for (a = 0; put(&i, 2 * a, 2 * a + 1, "x") == 0;)
		a++;
	assert_true(a >= IMAGE_MAPS_MAX - 2 && a <= IMAGE_MAPS_MAX);
	assert_int_equal(i->cnt, a);
	image__put(i);
	pathtab__free(t);
}

static void paths_live_as_long_as_needed(void **state)
{
	struct pathtab *t = pathtab__new();
	const char *a = pathtab__add(t, "/x"), *b = pathtab__add(t, "/x");

	(void)state;
	assert_ptr_equal(a, b);
	pathtab__put(t, a);
	assert_ptr_equal(pathtab__get(b), b);
	pathtab__put(t, b);
	assert_string_equal(b, "/x");
	pathtab__put(t, b);
	pathtab__put(t, NULL);
	assert_string_equal(pathtab__add(t, ""), "");
	pathtab__free(t);
	pathtab__free(NULL);
}

RUN_TESTS(cmocka_unit_test(overlaps_are_cut), cmocka_unit_test(shared_images_are_copied),
	  cmocka_unit_test(agrees_with_a_byte_map), cmocka_unit_test(images_are_bounded),
	  cmocka_unit_test(paths_live_as_long_as_needed))
