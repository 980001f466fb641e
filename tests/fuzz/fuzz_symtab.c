// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	void *image = malloc(sz ? sz : 1);
	struct elf_file *f;
	struct symbol s;

	FUZZ_CHECK(image);
	if (sz)
		memcpy(image, data, sz);
	f = elf_file__from_memory(image, sz, "fuzz");
	for (size_t i = 0; f && i < f->segment_cnt && i < 16; i++)
		for (uint64_t off = 0; off < 0x2000; off += 0x55) {
			uint64_t vaddr = f->segments[i].vaddr + off;

			if (elf_file__symbol(f, vaddr, &s))
				FUZZ_CHECK(s.address <= vaddr && s.name[0]);
		}
	elf_file__put(f);
	return 0;
}
