// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Images of a list for gdb that a hostile worker answers with. The first three bytes are the number
 * of images and of ranges, and the size of the frames; the rest follows the head of the block.
 */
#include "fuzz.h"

#include <string.h>

#include "jit/gdblist.h"

static void look_up(const struct gdb_list *l, uint64_t addr)
{
	struct code c;
	size_t sum = 0;

	if (!gdb_list__find(l, addr, &c))
		return;
	FUZZ_CHECK(c.sz && c.frames_sz);
	for (size_t i = 0; i < c.frames_sz; i++)
		sum += ((const uint8_t *)c.frames)[i];
	FUZZ_CHECK(sum <= 255 * c.frames_sz);
}

static void look_up_all(const struct gdb_list *l)
{
	const struct gdb_image *images = (const void *)(l + 1);
	const struct gdb_range *ranges = (const void *)(images + l->image_cnt);

	for (size_t i = 0; i < l->range_cnt; i++)
		for (uint64_t around = 0; around < 3; around++)
			look_up(l, ranges[i].start + around - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct gdb_list *block;

	if (sz < 3)
		return 0;
	block = malloc(sizeof(*block) + sz - 3); /* with an end that a sanitizer checks */
	FUZZ_CHECK(block);
	*block = (struct gdb_list){ data[0], data[1], data[2], 0 };
	memcpy(block + 1, data + 3, sz - 3);
	if (gdb_list__is_sound(block, sizeof(*block) + sz - 3))
		look_up_all(block);
	free(block);
	return 0;
}
