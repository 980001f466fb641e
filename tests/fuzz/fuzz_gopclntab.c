// SPDX-License-Identifier: GPL-2.0-or-later
#include "fuzz.h"

#include "goimage.h"
#include "elf/gopclntab.h"
#include "symbol/symbol.h"

static void check_names(struct elf_file *f)
{
	struct symbol s;

	for (uint64_t off = 0; off < GOIMAGE_TEXT_SZ; off += 0x10)
		if (elf_file__symbol(f, GOIMAGE_TEXT + off, &s))
			FUZZ_CHECK(s.address <= GOIMAGE_TEXT + off && s.name[0]);
}

/* The input is the table; if it begins with a byte of no magic number, the table is in a PIE. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	const char *name = sz && data[0] == 0 ? ".data.rel.ro" : ".gopclntab";
	struct goimage *image = goimage__make(name, data, sz);
	struct elf_file *f = elf_file__from_memory(image, sizeof(*image) + sz, "fuzz");
	struct gopclntab t;
	struct go_function g;

	FUZZ_CHECK(f);
	if (gopclntab__read(&t, f) == 0) {
		FUZZ_CHECK(t.cnt <= sz);
		for (uint64_t i = 0; i < t.cnt; i++)
			if (gopclntab__at(&t, i, &g))
				FUZZ_CHECK(g.sz && strlen(g.name) <= sz);
		gopclntab__free(&t);
		check_names(f);
	}
	elf_file__put(f);
	return 0;
}
