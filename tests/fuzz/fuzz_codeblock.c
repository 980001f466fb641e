// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of JIT code that a hostile worker answers with. The first three bytes are the number of
 * functions and the sizes of their names and frames, the fourth how far the file has been read in
 * units of 16 bytes; the rest follows the head of the block.
 */
#include "fuzz.h"

#include <string.h>

#include "jit/codelist.h"

#define END 2048 /* bytes of the file */

static void look_up(const struct codemap *m, uint64_t addr)
{
	struct code c;
	size_t sum = 0;

	if (!codemap__find(m, addr, 10, &c))
		return;
	FUZZ_CHECK(addr >= c.start && addr - c.start < c.sz && strlen(c.name) < 1024);
	for (size_t i = 0; i < c.frames_sz; i++)
		sum += ((const uint8_t *)c.frames)[i];
	FUZZ_CHECK(sum <= 255 * c.frames_sz);
}

/* Takes ownership of the block. */
static void use_block(void *block)
{
	struct code_list l = code_list__of_block(block);
	const struct code_entry *entries = (const void *)l.entries.data;
	struct codemap *m = codemap__new();
	bool overflowed = false;

	FUZZ_CHECK(m);
	code_list__apply(&l, 0, code_list__cnt(&l), m, &overflowed);
	for (size_t i = 0; i < code_list__cnt(&l); i++)
		for (uint64_t around = 0; around < 3; around++)
			look_up(m, entries[i].start + around - 1);
	codemap__free(m);
	code_list__free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	struct code_result head = { 0 };
	uint8_t *block;

	if (sz < 4)
		return 0;
	head.entries_sz = (uint32_t)(data[0] * sizeof(struct code_entry));
	head.names_sz = data[1];
	head.frames_sz = data[2];
	head.at.off = data[3] * 16u;
	block = malloc(sizeof(head) + sz - 4);
	FUZZ_CHECK(block);
	memcpy(block, &head, sizeof(head));
	memcpy(block + sizeof(head), data + 4, sz - 4);
	if (code_block__is_sound(block, sizeof(head) + sz - 4, 0, END))
		use_block(block);
	else
		free(block);
	return 0;
}
