// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol table that a hostile worker answers with. The first two bytes are the numbers of ranges
 * and of functions; the rest is the block after its header, which fits them.
 */
#include "fuzz.h"

#include <string.h>

#include "symbol/symtabtask.h"

static void look_up(struct elf_file *f, uint64_t vaddr)
{
	const char *raw = elf_file__mangled(f, vaddr);
	struct symbol s;

	if (raw)
		elf_file__set_name(f, vaddr, raw);
	if (elf_file__symbol(f, vaddr, &s))
		FUZZ_CHECK(s.name[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	uint64_t head[4] = { 0 }, *block; /* the last one: no lines, see fuzz_gopclntab.c */
	struct elf_file f = { .fd = -1 };
	struct symtab *t;

	if (sz < 2)
		return 0;
	head[0] = data[0];
	head[1] = data[1];
	head[2] = sz - 2 - head[0] * 12 - head[1] * 16;
	if (sz - 2 < head[0] * 12 + head[1] * 16)
		head[2] = 1; /* too short */
	block = malloc(sizeof(head) + sz - 2);
	FUZZ_CHECK(block);
	memcpy(block, head, sizeof(head));
	memcpy(block + 4, data + 2, sz - 2);
	t = symtab__of_block(block, sizeof(head) + sz - 2);
	if (!t) {
		free(block);
		return 0;
	}
	elf_file__set_symtab(&f, t);
	for (size_t i = 0; i < head[0]; i++)
		for (uint64_t around = 0; around < 3; around++)
			look_up(&f, block[3 + i] + around - 1);
	symtab__free(t);
	return 0;
}
